/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/words.h"

#include <stddef.h>

#define OURS "sunk.coreweave.com/"

const char *const kube_words[] = {
	/* values of many kinds */
	"", "true", "false", "default", "kube-system", "default-scheduler", "TCP", "UDP",
	/* resources */
	"cpu", "memory", "ephemeral-storage", "pods", "hugepages-1Gi", "hugepages-2Mi", "nvidia.com/gpu", "amd.com/gpu",
	"rdma/ib",
	/* volumes */
	"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod",
	/* owners */
	"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node", "NodeSet",
	/* taints and tolerations */
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable",
	"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/pid-pressure",
	"node.kubernetes.io/network-unavailable",
	/* conditions and their reasons */
	"PodScheduled", "Ready", "DisruptionTarget", "SlurmDrain", "SlurmRunning", "SlurmNotResponding", "SlurmJobLive",
	"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "ContainersNotReady", "PodCompleted",
	"KubeletReady", "KubeletHasSufficientMemory", "KubeletHasNoDiskPressure", "KubeletHasSufficientPID",
	"kubelet is posting ready status", "kubelet has sufficient memory available", "kubelet has no disk pressure",
	"kubelet has sufficient PID available",
	/* why a container waits or ended */
	"ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "Completed",
	"Error", "OOMKilled",
	/* addresses */
	"InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS",
	/* labels of Pods */
	"app", "app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by",
	"app.kubernetes.io/name", "app.kubernetes.io/part-of", "app.kubernetes.io/version",
	"apps.kubernetes.io/pod-index", "batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-name", "controller-revision-hash",
	"controller-uid", "helm.sh/chart", "Helm", "job-name", "k8s-app", "pod-template-generation",
	"pod-template-hash", "statefulset.kubernetes.io/pod-name",
	/* labels of Nodes */
	"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname",
	"kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/region",
	"topology.kubernetes.io/zone", "amd64", "arm64", "linux",
	/* our annotations and labels: NOLINTBEGIN(bugprone-suspicious-missing-comma) */
	OURS "account", OURS "comment", OURS "constraints", OURS "drain", OURS "excluded-nodes", OURS "exclusive",
	OURS "job-id", OURS "lock", OURS "lock-request", OURS "not_responding", OURS "partition", OURS "prefer",
	OURS "qos", OURS "required-nodes", OURS "reservation", OURS "running", NULL,
	/* NOLINTEND(bugprone-suspicious-missing-comma) */
};
