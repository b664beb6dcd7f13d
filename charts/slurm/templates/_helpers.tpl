{{- define "slurm.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "slurm.cluster" -}}
{{- default .Release.Name .Values.clusterName -}}
{{- end -}}

{{- define "slurm.schedulerName" -}}
{{- default (printf "%s-%s" .Release.Namespace .Release.Name) .Values.scheduler.name -}}
{{- end -}}

{{- /* Selector of a part: (list $ "syncer") */ -}}
{{- define "slurm.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: slurm
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "slurm.labels" -}}
{{- $root := index . 0 -}}
{{ include "slurm.selector" . }}
app.kubernetes.io/part-of: {{ include "slurm.cluster" $root }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{- /* (list $ .Values.image) */ -}}
{{- define "slurm.image" -}}
{{- $root := index . 0 -}}
{{- with index . 1 -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $root.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A list, or text with commas, as a list in JSON. */ -}}
{{- define "slurm.scopeNamespaces" -}}
{{- $given := .Values.scheduler.scope.namespaces -}}
{{- $list := list -}}
{{- if kindIs "string" $given -}}
{{- range splitList "," $given }}{{ with trim . }}{{ $list = append $list . }}{{ end }}{{ end -}}
{{- else if $given -}}
{{- $list = $given -}}
{{- end -}}
{{- if and (eq .Values.scheduler.scope.type "cluster") $list -}}
{{- fail "scheduler.scope.namespaces has no meaning with scheduler.scope.type cluster: remove it, or set the type to namespace" -}}
{{- end -}}
{{- if and (eq .Values.scheduler.scope.type "namespace") (not $list) -}}
{{- $list = list .Release.Namespace -}}
{{- end -}}
{{- uniq $list | toJson -}}
{{- end -}}

{{- define "slurm.mungeSecret" -}}
{{- default (printf "%s-munge" (include "slurm.fullname" .)) .Values.munge.existingSecret -}}
{{- end -}}
{{- define "slurm.tokenSecret" -}}
{{- default (printf "%s-hook-token" (include "slurm.fullname" .)) .Values.syncer.hooksAPI.existingSecret -}}
{{- end -}}
{{- define "slurm.hookSecret" -}}
{{- default (printf "%s-hook-secret" (include "slurm.fullname" .)) .Values.scheduler.hooksAPI.existingSecret -}}
{{- end -}}
{{- define "slurm.databaseSecret" -}}
{{- default (printf "%s-database" (include "slurm.fullname" .)) .Values.accounting.existingSecret -}}
{{- end -}}

{{- /* What a Secret holds already, or new random text: (list $ secret key bytes). In base64. */ -}}
{{- define "slurm.keep" -}}
{{- $root := index . 0 -}}
{{- $there := lookup "v1" "Secret" $root.Release.Namespace (index . 1) -}}
{{- $data := dict -}}
{{- with $there }}{{ $data = .data | default dict }}{{ end -}}
{{- index $data (index . 2) | default (randAlphaNum (index . 3 | int) | b64enc) -}}
{{- end -}}

{{- /* Where things run: nodeSelector, tolerations, affinity, priority of a part's values. */ -}}
{{- define "slurm.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "slurm.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "slurm.tight" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* munged beside everything that speaks with Slurm: starts before it, ends after it. --force: a volume's owner and mode are Kubernetes'
business, and munged would not have them; nobody but this Pod sees the volume. */ -}}
{{- define "slurm.munged" -}}
- name: munged
  image: {{ include "slurm.image" (list . .Values.slurmImage) | quote }}
  imagePullPolicy: {{ .Values.slurmImage.pullPolicy }}
  restartPolicy: Always
  command: [munged, --foreground, --force, --key-file=/etc/munge/munge.key, --pid-file=/run/munge/munged.pid, --seed-file=/run/munge/munged.seed,
    --log-file=/dev/stderr]
  startupProbe:
    exec: {command: [sh, -c, "munge -n | unmunge >/dev/null"]}
    periodSeconds: 1
    failureThreshold: 30
  livenessProbe:
    exec: {command: [sh, -c, "munge -n | unmunge >/dev/null"]}
    periodSeconds: 20
    timeoutSeconds: 5
  resources: {{- toYaml .Values.munge.resources | nindent 4 }}
  securityContext:
    runAsUser: 401
    runAsGroup: 401
    runAsNonRoot: true
    {{- include "slurm.tight" . | nindent 4 }}
  volumeMounts:
  - {name: munge, mountPath: /run/munge}
  - {name: munge-key, mountPath: /etc/munge, readOnly: true}
{{- end -}}

{{- define "slurm.mungeVolumes" -}}
- name: munge
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: munge-key
  secret: {secretName: {{ include "slurm.mungeSecret" . }}, defaultMode: 0444}
{{- end -}}

{{- define "slurm.confVolume" -}}
- name: slurm-conf
  configMap: {name: {{ include "slurm.fullname" . }}-conf}
{{- end -}}

{{- define "slurm.clientMounts" -}}
- {name: munge, mountPath: /run/munge}
- {name: slurm-conf, mountPath: /etc/slurm, readOnly: true}
{{- end -}}

{{- /* Peers: (list $ "slurmctld" "login" …), and networkPolicy.slurmFrom. */ -}}
{{- define "slurm.peers" -}}
{{- $root := index . 0 -}}
- podSelector:
    matchLabels: {app.kubernetes.io/name: slurm, app.kubernetes.io/instance: {{ $root.Release.Name }}}
    matchExpressions: [{key: app.kubernetes.io/component, operator: In, values: {{ rest . | toJson }}}]
{{- with $root.Values.networkPolicy.slurmFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The beginning of a NetworkPolicy. */ -}}
{{- define "slurm.policy" }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "slurm.fullname" .root }}-{{ .part }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "slurm.labels" (list .root .part) | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "slurm.selector" (list .root .part) | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
{{- end }}
