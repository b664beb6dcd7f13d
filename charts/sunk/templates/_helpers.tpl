{{- define "sunk.fullname" -}}
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

{{- define "sunk.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-operator" (include "sunk.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sunk.selector" -}}
app.kubernetes.io/name: sunk-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sunk.labels" -}}
{{ include "sunk.selector" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sunk.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The daemon's settings; what a person gives wins. */ -}}
{{- define "sunk.config" -}}
{{- $ours := dict
  "leaderElection" (dict "enabled" true "leaseName" "sunk-operator" "leaseNamespace" .Release.Namespace)
  "log" (dict "level" .Values.operator.logLevel "format" .Values.operator.logFormat) -}}
{{- with .Values.operator.cluster -}}
{{- $_ := set $ours "operator" (dict "cluster" .) -}}
{{- end -}}
{{- mergeOverwrite $ours (deepCopy .Values.operator.config) | toYaml -}}
{{- end -}}
