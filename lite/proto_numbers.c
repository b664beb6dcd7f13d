/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Field numbers of Kubernetes' protobuf messages, for the types that types_*.c name. `name` has the number behind the one
 * before it, `7:name` the number 7; `+Type` is a message whose fields stand in JSON with those of the one around it.
 */
#include "lite/proto.h"

/* clang-format off */
#define NUMBERS(...) #__VA_ARGS__

const struct proto_text proto_texts[] = {
{ "io.k8s.api.core.v1", NUMBERS(
Binding { metadata target }
ConfigMap { metadata 4:immutable 2:data binaryData }
Secret { metadata 5:immutable 2:data 4:stringData 3:type }
ServiceAccount { metadata secrets imagePullSecrets automountServiceAccountToken }
Namespace { metadata spec status }
Node { metadata spec status }
Event { metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series action
	related reportingComponent reportingInstance }
Service { metadata spec status }
PersistentVolumeClaim { metadata spec status }
PersistentVolume { metadata spec status }
PodTemplateSpec { metadata spec }
ObjectReference { kind namespace name uid apiVersion resourceVersion fieldPath }
NamespaceSpec { finalizers }
NamespaceStatus { phase conditions }
NodeSpec { podCIDR 7:podCIDRs 3:providerID unschedulable taints configSource 2:externalID }
NodeStatus { capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images volumesInUse
	volumesAttached config runtimeHandlers features declaredFeatures }
EventSource { component host }
EventSeries { count lastObservedTime }
ServiceSpec { ports selector clusterIP 18:clusterIPs 4:type externalIPs 7:sessionAffinity loadBalancerIP
	loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses
	sessionAffinityConfig 19:ipFamilies 17:ipFamilyPolicy 20:allocateLoadBalancerNodePorts loadBalancerClass
	internalTrafficPolicy trafficDistribution }
ServiceStatus { loadBalancer conditions }
PersistentVolumeClaimStatus { phase accessModes capacity conditions allocatedResources 7:allocatedResourceStatuses
	currentVolumeAttributesClassName modifyVolumeStatus }
PersistentVolumeSpec { capacity +PersistentVolumeSource accessModes claimRef persistentVolumeReclaimPolicy
	storageClassName mountOptions volumeMode nodeAffinity volumeAttributesClassName }
PersistentVolumeStatus { phase message reason lastPhaseTransitionTime }
NamespaceCondition { type status 4:lastTransitionTime reason message }
Taint { key value effect timeAdded }
NodeCondition { type status lastHeartbeatTime lastTransitionTime reason message }
NodeAddress { type address }
NodeDaemonEndpoints { kubeletEndpoint }
NodeSystemInfo { machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion
	kubeProxyVersion operatingSystem architecture swap }
ContainerImage { names sizeBytes }
AttachedVolume { name devicePath }
NodeRuntimeHandler { name features }
NodeFeatures { supplementalGroupsPolicy }
ServicePort { name protocol 6:appProtocol 3:port targetPort nodePort }
SessionAffinityConfig { clientIP }
LoadBalancerStatus { ingress }
PersistentVolumeClaimCondition { type status lastProbeTime lastTransitionTime reason message }
PersistentVolumeSource { gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd iscsi cinder cephfs fc
	flocker flexVolume azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO local
	storageos csi }
VolumeNodeAffinity { required }
LocalVolumeSource { path fsType }
CSIPersistentVolumeSource { driver volumeHandle readOnly fsType volumeAttributes controllerPublishSecretRef
	nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef nodeExpandSecretRef }
SecretReference { name namespace }
TopologySelectorTerm { matchLabelExpressions }
TopologySelectorLabelRequirement { key values }
DaemonEndpoint { Port }
NodeSwapStatus { capacity }
NodeRuntimeHandlerFeatures { recursiveReadOnlyMounts userNamespaces }
ClientIPConfig { timeoutSeconds }
LoadBalancerIngress { ip hostname ipMode ports }
PortStatus { port protocol error }
Pod { metadata spec status }
PodSpec { volumes 20:initContainers 2:containers 34:ephemeralContainers 3:restartPolicy terminationGracePeriodSeconds
	activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount 21:automountServiceAccountToken
	10:nodeName hostNetwork hostPID hostIPC 27:shareProcessNamespace 14:securityContext imagePullSecrets hostname
	subdomain affinity schedulerName 22:tolerations hostAliases priorityClassName priority dnsConfig 28:readinessGates
	runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints 35:setHostnameAsFQDN os
	hostUsers schedulingGates resourceClaims resources hostnameOverride }
PodStatus { 17:observedGeneration 1:phase conditions message reason 11:nominatedNodeName 5:hostIP 16:hostIPs 6:podIP
	12:podIPs 7:startTime 10:initContainerStatuses 8:containerStatuses qosClass 13:ephemeralContainerStatuses resize
	resourceClaimStatuses 18:extendedResourceClaimStatus allocatedResources resources }
Volume { name +VolumeSource }
Container { name image command args workingDir ports 19:envFrom 7:env resources 23:resizePolicy restartPolicy
	restartPolicyRules 9:volumeMounts 21:volumeDevices 10:livenessProbe readinessProbe 22:startupProbe 12:lifecycle
	terminationMessagePath 20:terminationMessagePolicy 14:imagePullPolicy securityContext stdin stdinOnce tty }
EphemeralContainer { +EphemeralContainerCommon targetContainerName }
PodSecurityContext { seLinuxOptions 8:windowsOptions 2:runAsUser 6:runAsGroup 3:runAsNonRoot supplementalGroups
	12:supplementalGroupsPolicy 5:fsGroup 7:sysctls 9:fsGroupChangePolicy seccompProfile appArmorProfile
	13:seLinuxChangePolicy }
LocalObjectReference { name }
Affinity { nodeAffinity podAffinity podAntiAffinity }
Toleration { key operator value effect tolerationSeconds }
HostAlias { ip hostnames }
PodDNSConfig { nameservers searches options }
PodReadinessGate { conditionType }
TopologySpreadConstraint { maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy
	nodeTaintsPolicy matchLabelKeys }
PodOS { name }
PodSchedulingGate { name }
PodResourceClaim { name 3:resourceClaimName resourceClaimTemplateName }
ResourceRequirements { limits requests claims }
PodCondition { type 7:observedGeneration 2:status lastProbeTime lastTransitionTime reason message }
HostIP { ip }
PodIP { ip }
ContainerStatus { name state lastState ready restartCount image imageID containerID started allocatedResources
	resources volumeMounts user allocatedResourcesStatus stopSignal }
PodResourceClaimStatus { name resourceClaimName }
PodExtendedResourceClaimStatus { requestMappings resourceClaimName }
VolumeSource { hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
	persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte
	azureDisk photonPersistentDisk 26:projected 24:portworxVolume scaleIO 27:storageos csi ephemeral image }
ContainerPort { name hostPort containerPort protocol hostIP }
EnvFromSource { prefix configMapRef secretRef }
EnvVar { name value valueFrom }
ContainerResizePolicy { resourceName restartPolicy }
ContainerRestartRule { action exitCodes }
VolumeMount { name readOnly 7:recursiveReadOnly 3:mountPath subPath mountPropagation subPathExpr }
VolumeDevice { name devicePath }
Probe { +ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
	terminationGracePeriodSeconds }
Lifecycle { postStart preStop stopSignal }
SecurityContext { capabilities privileged seLinuxOptions 10:windowsOptions 4:runAsUser 8:runAsGroup 5:runAsNonRoot
	readOnlyRootFilesystem allowPrivilegeEscalation 9:procMount 11:seccompProfile appArmorProfile }
EphemeralContainerCommon { name image command args workingDir ports 19:envFrom 7:env resources 23:resizePolicy
	restartPolicy restartPolicyRules 9:volumeMounts 21:volumeDevices 10:livenessProbe readinessProbe 22:startupProbe
	12:lifecycle terminationMessagePath 20:terminationMessagePolicy 14:imagePullPolicy securityContext stdin stdinOnce
	tty }
SELinuxOptions { user role type level }
Sysctl { name value }
SeccompProfile { type localhostProfile }
AppArmorProfile { type localhostProfile }
NodeAffinity { requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution }
PodAffinity { requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution }
PodAntiAffinity { requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution }
PodDNSConfigOption { name value }
ResourceClaim { name request }
ContainerState { waiting running terminated }
VolumeMountStatus { name mountPath readOnly recursiveReadOnly volumeStatus }
ContainerUser { linux }
ResourceStatus { name resources }
ContainerExtendedResourceRequest { containerName resourceName requestName }
HostPathVolumeSource { path type }
EmptyDirVolumeSource { medium sizeLimit }
SecretVolumeSource { secretName items defaultMode optional }
NFSVolumeSource { server path readOnly }
PersistentVolumeClaimVolumeSource { claimName readOnly }
DownwardAPIVolumeSource { items defaultMode }
ConfigMapVolumeSource { +LocalObjectReference items defaultMode optional }
ProjectedVolumeSource { sources defaultMode }
CSIVolumeSource { driver readOnly fsType volumeAttributes nodePublishSecretRef }
EphemeralVolumeSource { volumeClaimTemplate }
ImageVolumeSource { reference pullPolicy }
ConfigMapEnvSource { +LocalObjectReference optional }
SecretEnvSource { +LocalObjectReference optional }
EnvVarSource { fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef }
ContainerRestartRuleOnExitCodes { operator values }
ProbeHandler { exec httpGet tcpSocket grpc }
LifecycleHandler { exec httpGet tcpSocket sleep }
Capabilities { add drop }
NodeSelector { nodeSelectorTerms }
PreferredSchedulingTerm { weight preference }
PodAffinityTerm { labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys }
WeightedPodAffinityTerm { weight podAffinityTerm }
ContainerStateWaiting { reason message }
ContainerStateRunning { startedAt }
ContainerStateTerminated { exitCode signal reason message startedAt finishedAt containerID }
VolumeStatus { image }
LinuxContainerUser { uid gid supplementalGroups }
ResourceHealth { resourceID health 6:message }
KeyToPath { key path mode }
DownwardAPIVolumeFile { path fieldRef resourceFieldRef mode }
VolumeProjection { secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate }
PersistentVolumeClaimTemplate { metadata spec }
ObjectFieldSelector { apiVersion fieldPath }
ResourceFieldSelector { containerName resource divisor }
ConfigMapKeySelector { +LocalObjectReference key optional }
SecretKeySelector { +LocalObjectReference key optional }
FileKeySelector { volumeName path key optional }
ExecAction { command }
HTTPGetAction { path port host scheme httpHeaders }
TCPSocketAction { port host }
GRPCAction { port service }
SleepAction { seconds }
NodeSelectorTerm { matchExpressions matchFields }
ImageVolumeStatus { imageRef }
SecretProjection { +LocalObjectReference items 4:optional }
DownwardAPIProjection { items }
ConfigMapProjection { +LocalObjectReference items 4:optional }
ServiceAccountTokenProjection { audience expirationSeconds path }
ClusterTrustBundleProjection { name signerName labelSelector 5:optional 4:path }
PodCertificateProjection { signerName keyType maxExpirationSeconds credentialBundlePath keyPath certificateChainPath
	userAnnotations }
PersistentVolumeClaimSpec { accessModes 4:selector 2:resources volumeName 5:storageClassName volumeMode dataSource
	dataSourceRef volumeAttributesClassName }
HTTPHeader { name value }
NodeSelectorRequirement { key operator values }
VolumeResourceRequirements { limits requests }
TypedLocalObjectReference { apiGroup kind name }
TypedObjectReference { apiGroup kind name namespace }
) },
{ "io.k8s.api.apps.v1", NUMBERS(
Deployment { metadata spec status }
ReplicaSet { metadata spec status }
DaemonSet { metadata spec status }
StatefulSet { metadata spec status }
ControllerRevision { metadata data revision }
DeploymentSpec { replicas selector template strategy minReadySeconds revisionHistoryLimit paused
	9:progressDeadlineSeconds }
DeploymentStatus { observedGeneration replicas updatedReplicas 7:readyReplicas 4:availableReplicas unavailableReplicas
	9:terminatingReplicas 6:conditions 8:collisionCount }
ReplicaSetSpec { replicas 4:minReadySeconds 2:selector template }
ReplicaSetStatus { replicas fullyLabeledReplicas 4:readyReplicas availableReplicas 7:terminatingReplicas
	3:observedGeneration 6:conditions }
DaemonSetSpec { selector template updateStrategy minReadySeconds 6:revisionHistoryLimit }
DaemonSetStatus { currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration
	updatedNumberScheduled numberAvailable numberUnavailable collisionCount conditions }
StatefulSetSpec { replicas selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy
	revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals }
StatefulSetStatus { observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision
	updateRevision 9:collisionCount conditions availableReplicas }
DeploymentStrategy { type rollingUpdate }
DeploymentCondition { type status 6:lastUpdateTime lastTransitionTime 4:reason message }
ReplicaSetCondition { type status lastTransitionTime reason message }
DaemonSetUpdateStrategy { type rollingUpdate }
DaemonSetCondition { type status lastTransitionTime reason message }
StatefulSetUpdateStrategy { type rollingUpdate }
StatefulSetPersistentVolumeClaimRetentionPolicy { whenDeleted whenScaled }
StatefulSetOrdinals { start }
StatefulSetCondition { type status lastTransitionTime reason message }
RollingUpdateDeployment { maxUnavailable maxSurge }
RollingUpdateDaemonSet { maxUnavailable maxSurge }
RollingUpdateStatefulSetStrategy { partition maxUnavailable }
) },
{ "io.k8s.api.batch.v1", NUMBERS(
Job { metadata spec status }
JobSpec { parallelism completions activeDeadlineSeconds 11:podFailurePolicy 16:successPolicy 7:backoffLimit
	12:backoffLimitPerIndex maxFailedIndexes 4:selector manualSelector template 8:ttlSecondsAfterFinished completionMode
	suspend 14:podReplacementPolicy managedBy }
JobStatus { conditions startTime completionTime active succeeded failed 11:terminating 7:completedIndexes
	10:failedIndexes 8:uncountedTerminatedPods ready }
PodFailurePolicy { rules }
SuccessPolicy { rules }
JobCondition { type status lastProbeTime lastTransitionTime reason message }
UncountedTerminatedPods { succeeded failed }
PodFailurePolicyRule { action onExitCodes onPodConditions }
SuccessPolicyRule { succeededIndexes succeededCount }
PodFailurePolicyOnExitCodesRequirement { containerName operator values }
PodFailurePolicyOnPodConditionsPattern { type status }
) },
{ "io.k8s.api.policy.v1", NUMBERS(
PodDisruptionBudget { metadata spec status }
Eviction { metadata deleteOptions }
PodDisruptionBudgetSpec { minAvailable selector maxUnavailable unhealthyPodEvictionPolicy }
PodDisruptionBudgetStatus { observedGeneration disruptedPods disruptionsAllowed currentHealthy desiredHealthy
	expectedPods conditions }
) },
{ "io.k8s.api.rbac.v1", NUMBERS(
Role { metadata rules }
RoleBinding { metadata subjects roleRef }
ClusterRole { metadata rules aggregationRule }
ClusterRoleBinding { metadata subjects roleRef }
PolicyRule { verbs apiGroups resources resourceNames nonResourceURLs }
Subject { kind apiGroup name namespace }
RoleRef { apiGroup kind name }
AggregationRule { clusterRoleSelectors }
) },
{ "io.k8s.api.authorization.v1", NUMBERS(
SelfSubjectAccessReview { metadata spec status }
SelfSubjectRulesReview { metadata spec status }
SelfSubjectAccessReviewSpec { resourceAttributes nonResourceAttributes }
SubjectAccessReviewStatus { allowed 4:denied 2:reason evaluationError }
SelfSubjectRulesReviewSpec { namespace }
SubjectRulesReviewStatus { resourceRules nonResourceRules incomplete evaluationError }
ResourceAttributes { namespace verb group version resource subresource name fieldSelector labelSelector }
NonResourceAttributes { path verb }
ResourceRule { verbs apiGroups resources resourceNames }
NonResourceRule { verbs nonResourceURLs }
FieldSelectorAttributes { rawSelector requirements }
LabelSelectorAttributes { rawSelector requirements }
) },
{ "io.k8s.api.authentication.v1", NUMBERS(
SelfSubjectReview { metadata status }
SelfSubjectReviewStatus { userInfo }
TokenRequest { metadata spec status }
TokenRequestSpec { audiences 4:expirationSeconds 3:boundObjectRef }
TokenRequestStatus { token expirationTimestamp }
BoundObjectReference { kind apiVersion name uid }
UserInfo { username uid groups extra }
) },
{ "io.k8s.api.coordination.v1", NUMBERS(
Lease { metadata spec }
LeaseSpec { holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy preferredHolder }
) },
{ "io.k8s.api.events.v1", NUMBERS(
Event { metadata eventTime series reportingController reportingInstance action reason regarding related note type
	deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount }
EventSeries { count lastObservedTime }
) },
{ "io.k8s.api.storage.v1", NUMBERS(
StorageClass { metadata provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion volumeBindingMode
	allowedTopologies }
) },
{ "io.k8s.api.scheduling.v1", NUMBERS(
PriorityClass { metadata value globalDefault description preemptionPolicy }
) },
{ "io.k8s.api.autoscaling.v1", NUMBERS(
Scale { metadata spec status }
ScaleSpec { replicas }
ScaleStatus { replicas selector }
) },
{ "io.k8s.apimachinery.pkg.apis.meta.v1", NUMBERS(
ObjectMeta { name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
	deletionGracePeriodSeconds labels annotations ownerReferences finalizers 17:managedFields }
ListMeta { selfLink resourceVersion continue remainingItemCount }
Status { metadata status message reason details code }
DeleteOptions { gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun
	ignoreStoreReadErrorWithClusterBreakingPotential }
LabelSelector { matchLabels matchExpressions }
Condition { type status observedGeneration lastTransitionTime reason message }
FieldSelectorRequirement { key operator values }
OwnerReference { 5:apiVersion 1:kind 3:name uid 6:controller blockOwnerDeletion }
ManagedFieldsEntry { manager operation apiVersion time 6:fieldsType fieldsV1 subresource }
TypeMeta { kind apiVersion }
StatusDetails { name group kind 6:uid 4:causes retryAfterSeconds }
Preconditions { uid resourceVersion }
LabelSelectorRequirement { key operator values }
StatusCause { reason message field }
) },
{ 0 },
};
