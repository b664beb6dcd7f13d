{{- /* slurm.conf: what the chart needs to be so, then the user's lines over it. */ -}}
{{- define "slurm.conf" -}}
{{- $name := include "slurm.fullname" . -}}
{{- $lines := dict
  "ClusterName" (include "slurm.cluster" .)
  "SlurmctldHost" (printf "%s-slurmctld-0(%s-slurmctld.%s.svc)" $name $name .Release.Namespace)
  "SlurmctldPort" 6817
  "SlurmdPort" 6818
  "SrunPortRange" "60001-63000"
  "SlurmUser" "slurm"
  "SlurmdUser" "root"
  "AuthType" "auth/munge"
  "AuthInfo" "socket=/run/munge/munge.socket.2"
  "CredType" "cred/munge"
  "StateSaveLocation" "/var/lib/slurm/state"
  "SlurmdSpoolDir" "/var/spool/slurmd"
  "SlurmctldPidFile" "/run/slurm/slurmctld.pid"
  "SlurmdPidFile" "/run/slurm/slurmd.pid"
  "ProctrackType" "proctrack/linuxproc"
  "TaskPlugin" "task/none"
  "JobAcctGatherType" "jobacct_gather/none"
  "MailProg" "/usr/bin/true"
  "AccountingStorageType" "accounting_storage/none"
  "MpiDefault" "none"
  "SchedulerType" "sched/backfill"
  "SchedulerParameters" "nohold_on_prolog_fail"
  "SelectType" "select/cons_tres"
  "SelectTypeParameters" "CR_Core_Memory"
  "PreemptType" "preempt/partition_prio"
  "PreemptMode" "CANCEL"
  "Prolog" "/etc/slurm/prolog.sh"
  "Epilog" "/etc/slurm/epilog.sh"
  "PrologFlags" "Alloc"
  "PrologEpilogTimeout" 120
  "KillWait" (int .Values.slurm.killWait)
  "UnkillableStepTimeout" 180
  "ReturnToService" 2
  "SlurmctldTimeout" 120
  "SlurmdTimeout" 120
  "MinJobAge" 300
  "TreeWidth" 65533
  "GresTypes" "gpu"
  "MaxNodeCount" (int .Values.slurm.maxNodeCount) -}}
{{- if .Values.accounting.enabled -}}
{{- $_ := set $lines "AccountingStorageType" "accounting_storage/slurmdbd" -}}
{{- $_ := set $lines "AccountingStorageHost" (printf "%s-slurmdbd.%s.svc" $name .Release.Namespace) -}}
{{- $_ := set $lines "AccountingStoragePort" 6819 -}}
{{- $_ := set $lines "JobAcctGatherType" "jobacct_gather/linux" -}}
{{- $_ := set $lines "AccountingStorageTRES" "gres/gpu" -}}
{{- end -}}
{{- range $key, $value := mergeOverwrite $lines (deepCopy .Values.slurm.config) }}
{{ $key }}={{ if kindIs "float64" $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- $sets := include "slurm.nodeSets" . | fromYaml }}
{{- range $set, $of := $sets }}
NodeSet={{ $set }} Feature={{ $set }}
{{- end }}
{{- $default := false }}
{{- range $set, $of := $sets }}{{ if and $of.partition.enabled $of.partition.default }}{{ $default = true }}{{ end }}{{ end }}
{{- range .Values.partitions }}{{ if .default }}{{ $default = true }}{{ end }}{{ end }}
{{- range $set, $of := $sets }}
{{- if $of.partition.enabled }}
{{- if hasKey $.Values.partitions $set }}
{{- fail (printf "partition %s is there twice: the NodeSet of that name has one; set nodeSets.%s.partition.enabled to false, or name yours otherwise" $set $set) }}
{{- end }}
PartitionName={{ $set }} Nodes={{ $set }} Default={{ if or $of.partition.default (not $default) }}YES{{ else }}NO{{ end }} {{ $of.partition.config }}
{{- $default = true }}
{{- end }}
{{- end }}
{{- range $part, $of := .Values.partitions }}
{{- range $of.nodeSets }}{{ if not (hasKey $sets .) }}{{ fail (printf "partition %s: there is no NodeSet '%s'" $part .) }}{{ end }}{{ end }}
PartitionName={{ $part }} Nodes={{ join "," $of.nodeSets }} Default={{ if or $of.default (not $default) }}YES{{ else }}NO{{ end }} {{ $of.config | default "MaxTime=INFINITE State=UP" }}
{{- $default = true }}
{{- end }}
{{- if not $default }}
PartitionName=none Default=YES
{{- end }}
{{- with .Values.slurm.extraConfig }}
{{ . }}
{{- end }}
{{- end -}}

{{- define "slurm.databaseHost" -}}
{{- if .Values.accounting.mariadb.enabled -}}
{{- printf "%s-mariadb.%s.svc" (include "slurm.fullname" .) .Release.Namespace -}}
{{- else -}}
{{- required "accounting.external.host is needed when accounting.mariadb.enabled is false" .Values.accounting.external.host -}}
{{- end -}}
{{- end -}}

{{- /* Without the password, which is added where slurmdbd starts. */ -}}
{{- define "slurm.dbdConf" -}}
{{- $name := include "slurm.fullname" . -}}
{{- $external := .Values.accounting.external -}}
{{- $own := .Values.accounting.mariadb.enabled -}}
{{- $lines := dict
  "AuthType" "auth/munge"
  "AuthInfo" "socket=/run/munge/munge.socket.2"
  "DbdHost" "localhost"
  "DbdAddr" "0.0.0.0"
  "DbdPort" 6819
  "SlurmUser" "slurm"
  "PidFile" "/run/slurm/slurmdbd.pid"
  "StorageType" "accounting_storage/mysql"
  "StorageHost" (include "slurm.databaseHost" .)
  "StoragePort" (ternary 3306 (int $external.port) $own)
  "StorageUser" (ternary "slurm" $external.user $own)
  "StorageLoc" (ternary "slurm_acct_db" $external.database $own) -}}
{{- range $key, $value := mergeOverwrite $lines (deepCopy .Values.accounting.config) }}
{{ $key }}={{ if kindIs "float64" $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end -}}
