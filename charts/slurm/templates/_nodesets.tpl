{{- /* The NodeSets with their defaults laid under, in YAML: name → settings. Those that are off, or null, are not there. */ -}}
{{- define "slurm.nodeSets" -}}
{{- $sets := dict -}}
{{- range $name, $set := .Values.nodeSets -}}
{{- if $set -}}
{{- $whole := mergeOverwrite (deepCopy $.Values.nodeSetDefaults) (deepCopy $set) -}}
{{- if $whole.enabled -}}{{- $_ := set $sets $name $whole -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $sets -}}
{{- end -}}
