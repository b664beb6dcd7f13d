{{- /* The settings of each daemon, in the shape of its own YAML file; what a person gives in .config wins. */ -}}
{{- define "slurm.syncerConfig" -}}
{{- $v := .Values.syncer -}}
{{- $hooks := dict "listen" "0.0.0.0:8090" "tokenFile" "/etc/sunk/hook-token/token" "timeout" $v.hooksAPI.timeout
  "nodeRebootCondition" $v.hooksAPI.nodeRebootCondition "nodeRebootReason" $v.hooksAPI.nodeRebootReason -}}
{{- if $v.hooksAPI.tls.secretName -}}
{{- $_ := set $hooks "certFile" "/etc/sunk/tls/tls.crt" -}}
{{- $_ := set $hooks "keyFile" "/etc/sunk/tls/tls.key" -}}
{{- end -}}
{{- $ours := dict
  "slurm" (dict "conf" "/etc/slurm/slurm.conf")
  "leaderElection" (dict "leaseNamespace" .Release.Namespace)
  "log" (dict "level" $v.logLevel "format" $v.logFormat)
  "syncer" (dict "namespace" .Release.Namespace "release" .Release.Name "hooksAPI" $hooks "nodePermissions" (dict "enabled" $v.nodePermissions.enabled)) -}}
{{- mergeOverwrite $ours (deepCopy $v.config) | toYaml -}}
{{- end -}}

{{- define "slurm.schedulerConfig" -}}
{{- $v := .Values.scheduler -}}
{{- $scheme := ternary "https" "http" (ne $v.hooksAPI.tls.secretName "") -}}
{{- $hook := dict "listen" "0.0.0.0:8090" "secretFile" "/etc/sunk/hook-secret/secret"
  "url" (printf "%s://%s-scheduler.%s.svc:8090" $scheme (include "slurm.fullname" .) .Release.Namespace) -}}
{{- if $v.hooksAPI.tls.secretName -}}
{{- $_ := set $hook "certFile" "/etc/sunk/tls/tls.crt" -}}
{{- $_ := set $hook "keyFile" "/etc/sunk/tls/tls.key" -}}
{{- end -}}
{{- if $v.hooksAPI.tls.caSecretName -}}
{{- $_ := set $hook "caFile" "/etc/sunk/scheduler-ca/ca.crt" -}}
{{- end -}}
{{- $scope := dict "type" $v.scope.type -}}
{{- $namespaces := include "slurm.scopeNamespaces" . | fromJsonArray -}}
{{- if eq $v.scope.type "namespace" -}}{{- $_ := set $scope "namespaces" $namespaces -}}{{- end -}}
{{- $ours := dict
  "slurm" (dict "conf" "/etc/slurm/slurm.conf")
  "leaderElection" (dict "leaseNamespace" .Release.Namespace)
  "log" (dict "level" $v.logLevel "format" $v.logFormat)
  "scheduler" (dict "scope" $scope "nodesetNamespace" .Release.Namespace "hook" $hook) -}}
{{- mergeOverwrite $ours (deepCopy $v.config) | toYaml -}}
{{- end -}}

{{- /* A daemon of sunk that speaks with Slurm: (dict "root" $ "part" "syncer" "config" TEXT "args" LIST "ports" LIST "secret" NAME
"secretPath" PATH "uid" UID) */ -}}
{{- define "slurm.daemon" -}}
{{- $root := .root }}
{{- $v := index $root.Values .part }}
{{- $name := printf "%s-%s" (include "slurm.fullname" $root) .part }}
{{- $labels := include "slurm.labels" (list $root .part) }}
{{- $selector := include "slurm.selector" (list $root .part) }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
data:
  {{ .part }}.yaml: |
    {{- .config | nindent 4 }}
---
# Where prologs and placeholder jobs call. One that does not lead answers 503, and is asked again.
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  selector: {{- $selector | nindent 4 }}
  ports:
  - {name: hooks, port: 8090, targetPort: hooks}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  replicas: {{ $v.replicas }}
  selector:
    matchLabels: {{- $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
        {{- with $v.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        checksum/config: {{ sha256sum .config }}
        checksum/slurm.conf: {{ include "slurm.conf" $root | sha256sum }}
        {{- with $v.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      terminationGracePeriodSeconds: 20
      {{- include "slurm.pullSecrets" $root | nindent 6 }}
      {{- include "slurm.placement" (omit $v "affinity") | nindent 6 }}
      affinity:
        {{- if $v.affinity }}
        {{- toYaml $v.affinity | nindent 8 }}
        {{- else }}
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: {{- $selector | nindent 18 }}
        {{- end }}
      securityContext:
        runAsUser: {{ .uid }}
        runAsGroup: {{ .uid }}
        {{- if .uid }}
        runAsNonRoot: true
        fsGroup: {{ .uid }}
        {{- end }}
        seccompProfile: {type: RuntimeDefault}
      initContainers:
      {{- include "slurm.munged" $root | nindent 6 }}
      containers:
      - name: {{ .part }}
        image: {{ include "slurm.image" (list $root $root.Values.image) | quote }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        command: [sunk, {{ .part }}]
        args:
        - --config=/etc/sunk/config/{{ .part }}.yaml
        {{- range concat .args $v.extraArgs }}
        - {{ . | quote }}
        {{- end }}
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        ports:
        {{- range .ports }}
        - {name: {{ .name }}, containerPort: {{ .port }}}
        {{- end }}
        livenessProbe:
          httpGet: {path: /healthz, port: metrics}
          periodSeconds: 10
          timeoutSeconds: 5
        readinessProbe:
          httpGet: {path: /readyz, port: metrics}
          periodSeconds: 5
          timeoutSeconds: 5
        resources: {{- toYaml $v.resources | nindent 10 }}
        securityContext: {{- include "slurm.tight" $root | nindent 10 }}
        volumeMounts:
        {{- include "slurm.clientMounts" $root | nindent 8 }}
        - {name: config, mountPath: /etc/sunk/config, readOnly: true}
        - {name: secret, mountPath: {{ .secretPath }}, readOnly: true}
        {{- if $v.hooksAPI.tls.secretName }}
        - {name: tls, mountPath: /etc/sunk/tls, readOnly: true}
        {{- end }}
        - {name: tmp, mountPath: /tmp}
      volumes:
      {{- include "slurm.mungeVolumes" $root | nindent 6 }}
      {{- include "slurm.confVolume" $root | nindent 6 }}
      - {name: config, configMap: {name: {{ $name }}}}
      - {name: secret, secret: {secretName: {{ .secret }}, defaultMode: 0440}}
      {{- with $v.hooksAPI.tls.secretName }}
      - {name: tls, secret: {secretName: {{ . }}, defaultMode: 0440}}
      {{- end }}
      - {name: tmp, emptyDir: {}}
{{- if and $root.Values.podDisruptionBudget.enabled (gt (int $v.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- $selector | nindent 6 }}
{{- end }}
{{- end -}}
