/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pods, and everything a Pod is made of. types.c says how to read this.
 */
#include "lite/types_text.h"

/* clang-format off */
const struct types_text types_pod[] = {
{ "io.k8s.api.core.v1", TYPES(
Pod { ...TypeMeta; metadata ObjectMeta; spec PodSpec; status PodStatus; }
PodSpec { volumes []Volume @map(name) @retain; initContainers []Container @map(name);
	containers! []Container @map(name); ephemeralContainers []EphemeralContainer @map(name);
	restartPolicy string = "Always"; terminationGracePeriodSeconds *int64 = 30; activeDeadlineSeconds *int64;
	dnsPolicy string = "ClusterFirst"; nodeSelector map string @atomic; serviceAccountName string;
	serviceAccount string; automountServiceAccountToken *bool; nodeName string; hostNetwork bool; hostPID bool;
	hostIPC bool; shareProcessNamespace *bool; securityContext *PodSecurityContext = {};
	imagePullSecrets []LocalObjectReference @map(name); hostname string; subdomain string; affinity *Affinity;
	schedulerName string = "default-scheduler"; tolerations []Toleration; hostAliases []HostAlias @map(ip);
	priorityClassName string; priority *int32; dnsConfig *PodDNSConfig; readinessGates []PodReadinessGate;
	runtimeClassName *string; enableServiceLinks *bool; preemptionPolicy *string; overhead map Quantity;
	topologySpreadConstraints []TopologySpreadConstraint @map(topologyKey,whenUnsatisfiable);
	setHostnameAsFQDN *bool; os *PodOS; hostUsers *bool; schedulingGates []PodSchedulingGate @map(name);
	resourceClaims []PodResourceClaim @map(name) @retain; resources *ResourceRequirements;
	hostnameOverride *string; }
PodStatus { observedGeneration int64; phase string; conditions []PodCondition @map(type); message string;
	reason string; nominatedNodeName string; hostIP string; hostIPs []HostIP @merge(ip); podIP string;
	podIPs []PodIP @map(ip); startTime *Time; initContainerStatuses []ContainerStatus;
	containerStatuses []ContainerStatus; qosClass string; ephemeralContainerStatuses []ContainerStatus;
	resize string; resourceClaimStatuses []PodResourceClaimStatus @map(name) @retain;
	extendedResourceClaimStatus *PodExtendedResourceClaimStatus; allocatedResources map Quantity;
	resources *ResourceRequirements; }
Volume { name! string; ...VolumeSource; }
Container { name! string; image string; command []string; args []string; workingDir string;
	ports []ContainerPort @map(containerPort,protocol); envFrom []EnvFromSource; env []EnvVar @map(name);
	resources ResourceRequirements; resizePolicy []ContainerResizePolicy; restartPolicy *string;
	restartPolicyRules []ContainerRestartRule; volumeMounts []VolumeMount @map(mountPath);
	volumeDevices []VolumeDevice @map(devicePath); livenessProbe *Probe; readinessProbe *Probe;
	startupProbe *Probe; lifecycle *Lifecycle; terminationMessagePath string = "/dev/termination-log";
	terminationMessagePolicy string = "File"; imagePullPolicy string; securityContext *SecurityContext;
	stdin bool; stdinOnce bool; tty bool; }
EphemeralContainer { ...EphemeralContainerCommon; targetContainerName string; }
PodSecurityContext { seLinuxOptions *SELinuxOptions; windowsOptions *any; runAsUser *int64; runAsGroup *int64;
	runAsNonRoot *bool; supplementalGroups []int64; supplementalGroupsPolicy *string; fsGroup *int64;
	sysctls []Sysctl; fsGroupChangePolicy *string; seccompProfile *SeccompProfile;
	appArmorProfile *AppArmorProfile; seLinuxChangePolicy *string; }
LocalObjectReference @atomic { name string; }
Affinity { nodeAffinity *NodeAffinity; podAffinity *PodAffinity; podAntiAffinity *PodAntiAffinity; }
Toleration { key string; operator string; value string; effect string; tolerationSeconds *int64; }
HostAlias { ip! string; hostnames []string; }
PodDNSConfig { nameservers []string; searches []string; options []PodDNSConfigOption; }
PodReadinessGate { conditionType! string; }
TopologySpreadConstraint { maxSkew! int32; topologyKey! string; whenUnsatisfiable! string;
	labelSelector *LabelSelector; minDomains *int32; nodeAffinityPolicy *string; nodeTaintsPolicy *string;
	matchLabelKeys []string; }
PodOS { name! string; }
PodSchedulingGate { name! string; }
PodResourceClaim { name! string; resourceClaimName *string; resourceClaimTemplateName *string; }
ResourceRequirements { limits map Quantity; requests map Quantity; claims []ResourceClaim @map(name) @nomerge; }
PodCondition { type! string; observedGeneration int64; status! string; lastProbeTime Time; lastTransitionTime Time;
	reason string; message string; }
HostIP { ip! string; }
PodIP { ip! string; }
ContainerStatus { name! string; state ContainerState; lastState ContainerState; ready! bool; restartCount! int32;
	image! string; imageID! string; containerID string; started *bool; allocatedResources map Quantity;
	resources *ResourceRequirements; volumeMounts []VolumeMountStatus @map(mountPath); user *ContainerUser;
	allocatedResourcesStatus []ResourceStatus @map(name); stopSignal *string; }
PodResourceClaimStatus { name! string; resourceClaimName *string; }
PodExtendedResourceClaimStatus { requestMappings! []ContainerExtendedResourceRequest; resourceClaimName! string; }
VolumeSource { hostPath *HostPathVolumeSource; emptyDir *EmptyDirVolumeSource; gcePersistentDisk *any;
	awsElasticBlockStore *any; gitRepo *any; secret *SecretVolumeSource; nfs *NFSVolumeSource; iscsi *any;
	glusterfs *any; persistentVolumeClaim *PersistentVolumeClaimVolumeSource; rbd *any; flexVolume *any;
	cinder *any; cephfs *any; flocker *any; downwardAPI *DownwardAPIVolumeSource; fc *any; azureFile *any;
	configMap *ConfigMapVolumeSource; vsphereVolume *any; quobyte *any; azureDisk *any;
	photonPersistentDisk *any; projected *ProjectedVolumeSource; portworxVolume *any; scaleIO *any;
	storageos *any; csi *CSIVolumeSource; ephemeral *EphemeralVolumeSource; image *ImageVolumeSource; }
ContainerPort { name string; hostPort int32; containerPort! int32; protocol string = "TCP"; hostIP string; }
EnvFromSource { prefix string; configMapRef *ConfigMapEnvSource; secretRef *SecretEnvSource; }
EnvVar { name! string; value string; valueFrom *EnvVarSource; }
ContainerResizePolicy { resourceName! string; restartPolicy! string; }
ContainerRestartRule { action~ string; exitCodes *ContainerRestartRuleOnExitCodes; }
VolumeMount { name! string; readOnly bool; recursiveReadOnly *string; mountPath! string; subPath string;
	mountPropagation *string; subPathExpr string; }
VolumeDevice { name! string; devicePath! string; }
Probe { ...ProbeHandler; initialDelaySeconds int32; timeoutSeconds int32 = 1; periodSeconds int32 = 10;
	successThreshold int32 = 1; failureThreshold int32 = 3; terminationGracePeriodSeconds *int64; }
Lifecycle { postStart *LifecycleHandler; preStop *LifecycleHandler; stopSignal *string; }
SecurityContext { capabilities *Capabilities; privileged *bool; seLinuxOptions *SELinuxOptions; windowsOptions *any;
	runAsUser *int64; runAsGroup *int64; runAsNonRoot *bool; readOnlyRootFilesystem *bool;
	allowPrivilegeEscalation *bool; procMount *string; seccompProfile *SeccompProfile;
	appArmorProfile *AppArmorProfile; }
EphemeralContainerCommon { name! string; image string; command []string; args []string; workingDir string;
	ports []ContainerPort @map(containerPort,protocol); envFrom []EnvFromSource; env []EnvVar @map(name);
	resources ResourceRequirements; resizePolicy []ContainerResizePolicy; restartPolicy *string;
	restartPolicyRules []ContainerRestartRule; volumeMounts []VolumeMount @map(mountPath);
	volumeDevices []VolumeDevice @map(devicePath); livenessProbe *Probe; readinessProbe *Probe;
	startupProbe *Probe; lifecycle *Lifecycle; terminationMessagePath string = "/dev/termination-log";
	terminationMessagePolicy string = "File"; imagePullPolicy string; securityContext *SecurityContext;
	stdin bool; stdinOnce bool; tty bool; }
SELinuxOptions { user string; role string; type string; level string; }
Sysctl { name! string; value! string; }
SeccompProfile { type! string; localhostProfile *string; }
AppArmorProfile { type! string; localhostProfile *string; }
NodeAffinity { requiredDuringSchedulingIgnoredDuringExecution *NodeSelector;
	preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm; }
PodAffinity { requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm;
	preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm; }
PodAntiAffinity { requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm;
	preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm; }
PodDNSConfigOption { name string; value *string; }
ResourceClaim { name! string; request string; }
ContainerState { waiting *ContainerStateWaiting; running *ContainerStateRunning;
	terminated *ContainerStateTerminated; }
VolumeMountStatus { name! string; mountPath! string; readOnly bool; recursiveReadOnly *string;
	volumeStatus *VolumeStatus; }
ContainerUser { linux *LinuxContainerUser; }
ResourceStatus { name! string; resources []ResourceHealth @map(resourceID) @nomerge; }
ContainerExtendedResourceRequest { containerName! string; resourceName! string; requestName! string; }
HostPathVolumeSource { path! string; type *string = ""; }
EmptyDirVolumeSource { medium string; sizeLimit *Quantity; }
SecretVolumeSource { secretName string; items []KeyToPath; defaultMode *int32 = 420; optional *bool; }
NFSVolumeSource { server! string; path! string; readOnly bool; }
PersistentVolumeClaimVolumeSource { claimName! string; readOnly bool; }
DownwardAPIVolumeSource { items []DownwardAPIVolumeFile; defaultMode *int32 = 420; }
ConfigMapVolumeSource { ...LocalObjectReference; items []KeyToPath; defaultMode *int32 = 420; optional *bool; }
ProjectedVolumeSource { sources+ []VolumeProjection; defaultMode *int32 = 420; }
CSIVolumeSource { driver! string; readOnly *bool; fsType *string; volumeAttributes map string;
	nodePublishSecretRef *LocalObjectReference; }
EphemeralVolumeSource { volumeClaimTemplate *PersistentVolumeClaimTemplate; }
ImageVolumeSource { reference string; pullPolicy string; }
ConfigMapEnvSource { ...LocalObjectReference; optional *bool; }
SecretEnvSource { ...LocalObjectReference; optional *bool; }
EnvVarSource { fieldRef *ObjectFieldSelector; resourceFieldRef *ResourceFieldSelector;
	configMapKeyRef *ConfigMapKeySelector; secretKeyRef *SecretKeySelector; fileKeyRef *FileKeySelector; }
ContainerRestartRuleOnExitCodes { operator~ string; values []int32 @set; }
ProbeHandler { exec *ExecAction; httpGet *HTTPGetAction; tcpSocket *TCPSocketAction; grpc *GRPCAction; }
LifecycleHandler { exec *ExecAction; httpGet *HTTPGetAction; tcpSocket *TCPSocketAction; sleep *SleepAction; }
Capabilities { add []string; drop []string; }
NodeSelector @atomic { nodeSelectorTerms! []NodeSelectorTerm; }
PreferredSchedulingTerm { weight! int32; preference! NodeSelectorTerm; }
PodAffinityTerm { labelSelector *LabelSelector; namespaces []string; topologyKey! string;
	namespaceSelector *LabelSelector; matchLabelKeys []string; mismatchLabelKeys []string; }
WeightedPodAffinityTerm { weight! int32; podAffinityTerm! PodAffinityTerm; }
ContainerStateWaiting { reason string; message string; }
ContainerStateRunning { startedAt Time; }
ContainerStateTerminated { exitCode! int32; signal int32; reason string; message string; startedAt Time;
	finishedAt Time; containerID string; }
VolumeStatus { image *ImageVolumeStatus; }
LinuxContainerUser { uid! int64; gid! int64; supplementalGroups []int64; }
ResourceHealth { resourceID! string; health string; message *string; }
KeyToPath { key! string; path! string; mode *int32; }
DownwardAPIVolumeFile { path! string; fieldRef *ObjectFieldSelector; resourceFieldRef *ResourceFieldSelector;
	mode *int32; }
VolumeProjection { secret *SecretProjection; downwardAPI *DownwardAPIProjection; configMap *ConfigMapProjection;
	serviceAccountToken *ServiceAccountTokenProjection; clusterTrustBundle *ClusterTrustBundleProjection;
	podCertificate *PodCertificateProjection; }
PersistentVolumeClaimTemplate { metadata ObjectMeta; spec! PersistentVolumeClaimSpec; }
ObjectFieldSelector @atomic { apiVersion string = "v1"; fieldPath! string; }
ResourceFieldSelector @atomic { containerName string; resource! string; divisor Quantity; }
ConfigMapKeySelector @atomic { ...LocalObjectReference; key! string; optional *bool; }
SecretKeySelector @atomic { ...LocalObjectReference; key! string; optional *bool; }
FileKeySelector @atomic { volumeName! string; path! string; key! string; optional *bool; }
ExecAction { command []string; }
HTTPGetAction { path string = "/"; port! IntOrString; host string; scheme string = "HTTP"; httpHeaders []HTTPHeader; }
TCPSocketAction { port! IntOrString; host string; }
GRPCAction { port! int32; service+ *string = ""; }
SleepAction { seconds! int64; }
NodeSelectorTerm @atomic { matchExpressions []NodeSelectorRequirement; matchFields []NodeSelectorRequirement; }
ImageVolumeStatus { imageRef~ string; }
SecretProjection { ...LocalObjectReference; items []KeyToPath; optional *bool; }
DownwardAPIProjection { items []DownwardAPIVolumeFile; }
ConfigMapProjection { ...LocalObjectReference; items []KeyToPath; optional *bool; }
ServiceAccountTokenProjection { audience string; expirationSeconds *int64 = 3600; path! string; }
ClusterTrustBundleProjection { name *string; signerName *string; labelSelector *LabelSelector; optional *bool;
	path! string; }
PodCertificateProjection { signerName~ string; keyType~ string; maxExpirationSeconds *int32;
	credentialBundlePath string; keyPath string; certificateChainPath string; userAnnotations map string; }
PersistentVolumeClaimSpec { accessModes []string; selector *LabelSelector; resources VolumeResourceRequirements;
	volumeName string; storageClassName *string; volumeMode *string = "Filesystem";
	dataSource *TypedLocalObjectReference; dataSourceRef *TypedObjectReference;
	volumeAttributesClassName *string; }
HTTPHeader { name! string; value! string; }
NodeSelectorRequirement { key! string; operator! string; values []string; }
VolumeResourceRequirements { limits map Quantity; requests map Quantity; }
TypedLocalObjectReference @atomic { apiGroup+ *string; kind! string; name! string; }
TypedObjectReference { apiGroup+ *string; kind! string; name! string; namespace *string; }
) },
{ NULL, NULL },
};
