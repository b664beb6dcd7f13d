/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Metadata, and the kinds of the core group besides Pods. types.c says how to read this.
 */
#include "lite/types_text.h"

/* clang-format off */
const struct types_text types_core[] = {
{ "io.k8s.apimachinery.pkg.apis.meta.v1", TYPES(
ObjectMeta { name string; generateName string; namespace string; selfLink string; uid string;
	resourceVersion string; generation int64; creationTimestamp? Time; deletionTimestamp *Time;
	deletionGracePeriodSeconds *int64; labels map string; annotations map string;
	ownerReferences []OwnerReference @map(uid); finalizers []string @set @merge;
	managedFields []ManagedFieldsEntry; }
ListMeta { selfLink string; resourceVersion string; continue string; remainingItemCount *int64; }
Status { ...TypeMeta; metadata ListMeta; status string; message string; reason string; details *StatusDetails;
	code int32; }
DeleteOptions { ...TypeMeta; gracePeriodSeconds *int64; preconditions *Preconditions; orphanDependents *bool;
	propagationPolicy *string; dryRun []string; ignoreStoreReadErrorWithClusterBreakingPotential *bool; }
LabelSelector @atomic { matchLabels map string; matchExpressions []LabelSelectorRequirement; }
Condition { type! string; status! string; observedGeneration int64; lastTransitionTime! Time; reason! string;
	message! string; }
FieldSelectorRequirement { key! string; operator! string; values []string; }
OwnerReference @atomic { apiVersion! string; kind! string; name! string; uid! string; controller *bool;
	blockOwnerDeletion *bool; }
ManagedFieldsEntry { manager string; operation string; apiVersion string; time *Time; fieldsType string;
	fieldsV1 *any; subresource string; }
TypeMeta { kind string; apiVersion string; }
StatusDetails { name string; group string; kind string; uid string; causes []StatusCause; retryAfterSeconds int32; }
Preconditions { uid *string; resourceVersion *string; }
LabelSelectorRequirement { key! string; operator! string; values []string; }
StatusCause { reason string; message string; field string; }
) },
{ "io.k8s.api.core.v1", TYPES(
Binding { ...TypeMeta; metadata ObjectMeta; target! ObjectReference; }
ConfigMap { ...TypeMeta; metadata ObjectMeta; immutable *bool; data map string; binaryData map bytes; }
Secret { ...TypeMeta; metadata ObjectMeta; immutable *bool; data map bytes; stringData map string;
	type string = "Opaque"; }
ServiceAccount { ...TypeMeta; metadata ObjectMeta; secrets []ObjectReference @map(name);
	imagePullSecrets []LocalObjectReference; automountServiceAccountToken *bool; }
Namespace { ...TypeMeta; metadata ObjectMeta; spec NamespaceSpec; status NamespaceStatus; }
Node { ...TypeMeta; metadata ObjectMeta; spec NodeSpec; status NodeStatus; }
Event { ...TypeMeta; metadata! ObjectMeta; involvedObject! ObjectReference; reason string; message string;
	source EventSource; firstTimestamp Time; lastTimestamp Time; count int32; type string; eventTime MicroTime;
	series *EventSeries; action string; related *ObjectReference; reportingComponent+ string;
	reportingInstance+ string; }
Service { ...TypeMeta; metadata ObjectMeta; spec ServiceSpec; status ServiceStatus; }
PersistentVolumeClaim { ...TypeMeta; metadata ObjectMeta; spec PersistentVolumeClaimSpec;
	status PersistentVolumeClaimStatus; }
PersistentVolume { ...TypeMeta; metadata ObjectMeta; spec PersistentVolumeSpec; status PersistentVolumeStatus; }
PodTemplateSpec { metadata ObjectMeta; spec PodSpec; }
ObjectReference @atomic { kind string; namespace string; name string; uid string; apiVersion string;
	resourceVersion string; fieldPath string; }
NamespaceSpec { finalizers []string; }
NamespaceStatus { phase string = "Active"; conditions []NamespaceCondition @map(type); }
NodeSpec { podCIDR string; podCIDRs []string @set @merge; providerID string; unschedulable bool; taints []Taint;
	configSource *any; externalID string; }
NodeStatus { capacity map Quantity; allocatable map Quantity; phase string; conditions []NodeCondition @map(type);
	addresses []NodeAddress @map(type); daemonEndpoints NodeDaemonEndpoints; nodeInfo NodeSystemInfo;
	images []ContainerImage; volumesInUse []string; volumesAttached []AttachedVolume; config *any;
	runtimeHandlers []NodeRuntimeHandler; features *NodeFeatures; declaredFeatures []string; }
EventSource { component string; host string; }
EventSeries { count int32; lastObservedTime MicroTime; }
ServiceSpec { ports []ServicePort @map(port,protocol); selector map string @atomic; clusterIP string;
	clusterIPs []string; type string = "ClusterIP"; externalIPs []string; sessionAffinity string = "None";
	loadBalancerIP string; loadBalancerSourceRanges []string; externalName string; externalTrafficPolicy string;
	healthCheckNodePort int32; publishNotReadyAddresses bool; sessionAffinityConfig *SessionAffinityConfig;
	ipFamilies []string; ipFamilyPolicy *string; allocateLoadBalancerNodePorts *bool; loadBalancerClass *string;
	internalTrafficPolicy *string; trafficDistribution *string; }
ServiceStatus { loadBalancer LoadBalancerStatus; conditions []Condition @map(type); }
PersistentVolumeClaimStatus { phase string = "Pending"; accessModes []string; capacity map Quantity;
	conditions []PersistentVolumeClaimCondition @map(type); allocatedResources map Quantity;
	allocatedResourceStatuses map string; currentVolumeAttributesClassName *string; modifyVolumeStatus *any; }
PersistentVolumeSpec { capacity map Quantity; ...PersistentVolumeSource; accessModes []string;
	claimRef *ObjectReference; persistentVolumeReclaimPolicy string = "Retain"; storageClassName string;
	mountOptions []string; volumeMode *string = "Filesystem"; nodeAffinity *VolumeNodeAffinity;
	volumeAttributesClassName *string; }
PersistentVolumeStatus { phase string = "Pending"; message string; reason string; lastPhaseTransitionTime *Time; }
NamespaceCondition { type! string; status! string; lastTransitionTime Time; reason string; message string; }
Taint { key! string; value string; effect! string; timeAdded *Time; }
NodeCondition { type! string; status! string; lastHeartbeatTime Time; lastTransitionTime Time; reason string;
	message string; }
NodeAddress { type! string; address! string; }
NodeDaemonEndpoints { kubeletEndpoint DaemonEndpoint; }
NodeSystemInfo { machineID! string; systemUUID! string; bootID! string; kernelVersion! string; osImage! string;
	containerRuntimeVersion! string; kubeletVersion! string; kubeProxyVersion! string; operatingSystem! string;
	architecture! string; swap *NodeSwapStatus; runningInUserNamespace *bool; }
ContainerImage { names+ []string; sizeBytes int64; }
AttachedVolume { name! string; devicePath! string; }
NodeRuntimeHandler { name+ string; features *NodeRuntimeHandlerFeatures; }
NodeFeatures { supplementalGroupsPolicy *bool; }
ServicePort { name string; protocol string = "TCP"; appProtocol *string; port! int32; targetPort IntOrString;
	nodePort int32; }
SessionAffinityConfig { clientIP *ClientIPConfig; }
LoadBalancerStatus { ingress []LoadBalancerIngress; }
PersistentVolumeClaimCondition { type! string; status! string; lastProbeTime Time; lastTransitionTime Time;
	reason string; message string; }
PersistentVolumeSource { gcePersistentDisk *any; awsElasticBlockStore *any; hostPath *HostPathVolumeSource;
	glusterfs *any; nfs *NFSVolumeSource; rbd *any; iscsi *any; cinder *any; cephfs *any; fc *any; flocker *any;
	flexVolume *any; azureFile *any; vsphereVolume *any; quobyte *any; azureDisk *any; photonPersistentDisk *any;
	portworxVolume *any; scaleIO *any; local *LocalVolumeSource; storageos *any; csi *CSIPersistentVolumeSource; }
VolumeNodeAffinity { required *NodeSelector; }
LocalVolumeSource { path! string; fsType *string; }
CSIPersistentVolumeSource { driver! string; volumeHandle! string; readOnly bool; fsType string;
	volumeAttributes map string; controllerPublishSecretRef *SecretReference; nodeStageSecretRef *SecretReference;
	nodePublishSecretRef *SecretReference; controllerExpandSecretRef *SecretReference;
	nodeExpandSecretRef *SecretReference; }
SecretReference @atomic { name string; namespace string; }
TopologySelectorTerm @atomic { matchLabelExpressions []TopologySelectorLabelRequirement; }
TopologySelectorLabelRequirement { key! string; values! []string; }
DaemonEndpoint { Port! int32; }
NodeSwapStatus { capacity *int64; }
NodeRuntimeHandlerFeatures { recursiveReadOnlyMounts *bool; userNamespaces *bool; }
ClientIPConfig { timeoutSeconds *int32; }
LoadBalancerIngress { ip string; hostname string; ipMode *string; ports []PortStatus; }
PortStatus { port! int32; protocol! string; error *string; }
) },
{ NULL, NULL },
};
