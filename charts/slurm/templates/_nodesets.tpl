{{- /* The NodeSets with their defaults laid under, in YAML: name → settings. Those that are off, or null, are not there. */ -}}
{{- define "slurm.nodeSets" -}}
{{- $sets := dict -}}
{{- range $name, $set := .Values.nodeSets -}}
{{- if $set -}}
{{- $whole := mergeOverwrite (deepCopy $.Values.nodeSetDefaults) (deepCopy $set) -}}
{{- /* a security context as a whole: half of one and half of another may not go together */ -}}
{{- with $set.securityContext -}}{{- $_ := set $whole "securityContext" . -}}{{- end -}}
{{- if $whole.enabled -}}{{- $_ := set $sets $name $whole -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $sets -}}
{{- end -}}
