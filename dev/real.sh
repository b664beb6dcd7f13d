# shellcheck shell=sh
# The real control plane of a cluster: etcd, kube-apiserver, kube-controller-manager and kube-scheduler. Sourced by dev/up,
# which gives `dir`, `here`, `kube_only`, launch(), await() and fail(); KUBE_BIN_DIR is where the programs are (dev/kube).
#
# It leaves in DIR/kube what lite leaves there: ready (the URL), token, ca.crt, kubeconfig. Each part is a script DIR/PART, so
# that it can be started again as it was.
: "${dir:?}" "${here:?}" "${kube_only:?}" "${KUBE_BIN_DIR:?}"

# A cluster that lives for minutes has more memory than processors: all of them are Go programs, and collect their garbage less often.
part_script() { # NAME COMMAND...: with its flags one a line
	ps_name=$1
	shift
	{
		# shellcheck disable=SC2016  # for the script
		printf '#!/bin/sh\nexport GOGC="${GOGC:-400}"\nexec'
		printf " '%s' \\\\\\n" "$@"
		printf ' "$@"\n'
	} >"$dir/$ps_name"
	chmod 755 "$dir/$ps_name"
}

real_certificates() {
	(
		umask 077
		cd "$dir/kube" || exit
		openssl ecparam -name prime256v1 -genkey -noout -out ca.key
		openssl req -x509 -new -key ca.key -subj /CN=sunk-test-ca -days 30 -addext keyUsage=critical,keyCertSign,cRLSign -out ca.crt
		openssl ecparam -name prime256v1 -genkey -noout -out server.key
		openssl req -new -key server.key -subj /CN=kube-apiserver -out server.csr
		printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc\nauthorityKeyIdentifier=keyid\n' >server.ext
		openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile server.ext -out server.crt
		openssl genrsa -out accounts.key 2048
		openssl rand -hex 32 >token
		printf '%s,admin,admin,system:masters\n' "$(cat token)" >tokens.csv
		chmod 644 ca.crt
	) >"$dir/log/certificates.log" 2>&1
}

real_kubeconfig() {
	cat >"$kubeconfig" <<-CONFIG
	apiVersion: v1
	kind: Config
	clusters: [{name: real, cluster: {server: "$(cat "$dir/kube/url")", certificate-authority: "$dir/kube/ca.crt"}}]
	users: [{name: me, user: {token: "$(cat "$dir/kube/token")"}}]
	contexts: [{name: real, context: {cluster: real, user: me}}]
	current-context: real
	CONFIG
	chmod 600 "$kubeconfig"
}

real_start() {
	set --
	command -v etcd >/dev/null 2>&1 || fail etcd "is not here (Debian's etcd-server)"
	mkdir -p "$dir/kube"
	real_certificates || fail "the Kubernetes API" "no certificates" "$dir/log/certificates.log"
	r_port=$(free_ports 4 "$dir")
	r_etcd=http://127.0.0.1:$((r_port + 1)) r_peer=http://127.0.0.1:$((r_port + 2))
	printf 'https://127.0.0.1:%s\n' "$r_port" >"$dir/kube/url"
	printf '%s\n' "$r_etcd" >"$dir/kube/etcd-url"
	kubeconfig=$dir/kube/kubeconfig
	real_kubeconfig

	# who asked for what: sunk's daemons only
	cat >"$dir/kube/audit-policy.yaml" <<-'POLICY'
	apiVersion: audit.k8s.io/v1
	kind: Policy
	omitStages: [RequestReceived]
	rules:
	- level: Metadata
	  userGroups: [system:serviceaccounts:slurm]
	- level: None
	POLICY
	# a test's cluster need not outlive the machine: no fsync
	part_script etcd etcd --name=sunk --data-dir="$dir/kube/etcd" --listen-client-urls="$r_etcd" --advertise-client-urls="$r_etcd" \
		--listen-peer-urls="$r_peer" --initial-advertise-peer-urls="$r_peer" --initial-cluster="sunk=$r_peer" --unsafe-no-fsync --log-level=warn
	part_script kube-apiserver "$KUBE_BIN_DIR/kube-apiserver" --etcd-servers="$r_etcd" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
		--secure-port="$r_port" --tls-cert-file="$dir/kube/server.crt" --tls-private-key-file="$dir/kube/server.key" \
		--client-ca-file="$dir/kube/ca.crt" --token-auth-file="$dir/kube/tokens.csv" --authorization-mode=RBAC \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$dir/kube/accounts.key" \
		--service-account-signing-key-file="$dir/kube/accounts.key" --service-cluster-ip-range=10.96.0.0/24 --allow-privileged=true \
		--endpoint-reconciler-type=none --event-ttl=1h --cert-dir="$dir/kube" \
		--audit-policy-file="$dir/kube/audit-policy.yaml" --audit-log-path="$dir/log/audit.jsonl"
	# Nodes that a test only writes down have no kubelet that says it lives
	[ "$kube_only" = no ] || set -- --node-monitor-grace-period=1h
	part_script kube-controller-manager "$KUBE_BIN_DIR/kube-controller-manager" --kubeconfig="$kubeconfig" --secure-port=0 --leader-elect=false \
		--service-account-private-key-file="$dir/kube/accounts.key" --root-ca-file="$dir/kube/ca.crt" --cert-dir="$dir/kube" \
		--kube-api-qps=200 --kube-api-burst=400 --concurrent-namespace-syncs=20 "$@"
	part_script kube-scheduler "$KUBE_BIN_DIR/kube-scheduler" --kubeconfig="$kubeconfig" --secure-port=0 --leader-elect=false

	launch etcd "$dir/etcd"
	await etcd 20 curl -sf "$r_etcd/health" || fail etcd "not ready within 20 s" "$dir/log/etcd.log"
	launch kube-apiserver "$dir/kube-apiserver"
	printf 'header = "Authorization: Bearer %s"\n' "$(cat "$dir/kube/token")" >"$dir/kube/curl.conf"
	await kube-apiserver 60 curl -sf -K "$dir/kube/curl.conf" --cacert "$dir/kube/ca.crt" "$(cat "$dir/kube/url")/readyz" ||
		fail kube-apiserver "not ready within 60 s" "$dir/log/kube-apiserver.log"
	launch kube-controller-manager "$dir/kube-controller-manager"
	launch kube-scheduler "$dir/kube-scheduler"

	export KUBECONFIG="$kubeconfig"
	kubectl create namespace slurm >"$dir/log/namespace.log" 2>&1 || fail "the namespace slurm" "cannot be made" "$dir/log/namespace.log"
	for r_name in slurm default; do
		await kube-controller-manager 30 kubectl get serviceaccount -n $r_name default ||
			fail kube-controller-manager "made no service account within 30 s" "$dir/log/kube-controller-manager.log"
	done
	cp "$dir/kube/url" "$dir/kube/ready"
}
