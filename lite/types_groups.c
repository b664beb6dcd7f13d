/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The kinds of the named groups. types.c says how to read this.
 */
#include "lite/types_text.h"

/* clang-format off */
const struct types_text types_groups[] = {
{ "io.k8s.api.apps.v1", TYPES(
Deployment { ...TypeMeta; metadata ObjectMeta; spec~ DeploymentSpec; status DeploymentStatus; }
ReplicaSet { ...TypeMeta; metadata ObjectMeta; spec~ ReplicaSetSpec; status ReplicaSetStatus; }
DaemonSet { ...TypeMeta; metadata ObjectMeta; spec~ DaemonSetSpec; status DaemonSetStatus; }
StatefulSet { ...TypeMeta; metadata ObjectMeta; spec~ StatefulSetSpec; status StatefulSetStatus; }
ControllerRevision { ...TypeMeta; metadata ObjectMeta; data! any; revision+ int64; }
DeploymentSpec { replicas *int32 = 1; selector! *LabelSelector; template! PodTemplateSpec;
	strategy DeploymentStrategy @retain; minReadySeconds int32; revisionHistoryLimit *int32 = 10; paused bool;
	progressDeadlineSeconds *int32 = 600; }
DeploymentStatus { observedGeneration int64; replicas int32; updatedReplicas int32; readyReplicas int32;
	availableReplicas int32; unavailableReplicas int32; terminatingReplicas *int32;
	conditions []DeploymentCondition @map(type); collisionCount *int32; }
ReplicaSetSpec { replicas *int32 = 1; minReadySeconds int32; selector! *LabelSelector; template PodTemplateSpec; }
ReplicaSetStatus { replicas! int32; fullyLabeledReplicas int32; readyReplicas int32; availableReplicas int32;
	terminatingReplicas *int32; observedGeneration int64; conditions []ReplicaSetCondition @map(type); }
DaemonSetSpec { selector! *LabelSelector; template! PodTemplateSpec; updateStrategy DaemonSetUpdateStrategy;
	minReadySeconds int32; revisionHistoryLimit *int32 = 10; }
DaemonSetStatus { currentNumberScheduled! int32; numberMisscheduled! int32; desiredNumberScheduled! int32;
	numberReady! int32; observedGeneration int64; updatedNumberScheduled int32; numberAvailable int32;
	numberUnavailable int32; collisionCount *int32; conditions []DaemonSetCondition @map(type); }
StatefulSetSpec { replicas *int32 = 1; selector! *LabelSelector; template! PodTemplateSpec;
	volumeClaimTemplates []PersistentVolumeClaim; serviceName+ string;
	podManagementPolicy string = "OrderedReady"; updateStrategy StatefulSetUpdateStrategy;
	revisionHistoryLimit *int32 = 10; minReadySeconds int32;
	persistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy = {};
	ordinals *StatefulSetOrdinals; }
StatefulSetStatus { observedGeneration int64; replicas! int32; readyReplicas int32; currentReplicas int32;
	updatedReplicas int32; currentRevision string; updateRevision string; collisionCount *int32;
	conditions []StatefulSetCondition @map(type); availableReplicas+ int32; }
DeploymentStrategy { type string = "RollingUpdate"; rollingUpdate *RollingUpdateDeployment; }
DeploymentCondition { type+ string; status+ string; lastUpdateTime Time; lastTransitionTime Time; reason string;
	message string; }
ReplicaSetCondition { type+ string; status+ string; lastTransitionTime Time; reason string; message string; }
DaemonSetUpdateStrategy { type string = "RollingUpdate"; rollingUpdate *RollingUpdateDaemonSet; }
DaemonSetCondition { type+ string; status+ string; lastTransitionTime Time; reason string; message string; }
StatefulSetUpdateStrategy { type string; rollingUpdate *RollingUpdateStatefulSetStrategy; }
StatefulSetPersistentVolumeClaimRetentionPolicy { whenDeleted string = "Retain"; whenScaled string = "Retain"; }
StatefulSetOrdinals { start+ int32; }
StatefulSetCondition { type+ string; status+ string; lastTransitionTime Time; reason string; message string; }
RollingUpdateDeployment { maxUnavailable *IntOrString = "25%"; maxSurge *IntOrString = "25%"; }
RollingUpdateDaemonSet { maxUnavailable *IntOrString = 1; maxSurge *IntOrString = 0; }
RollingUpdateStatefulSetStrategy { partition *int32 = 0; maxUnavailable *IntOrString; }
) },
{ "io.k8s.api.batch.v1", TYPES(
Job { ...TypeMeta; metadata ObjectMeta; spec JobSpec; status JobStatus; }
JobSpec { parallelism *int32 = 1; completions *int32; activeDeadlineSeconds *int64;
	podFailurePolicy *PodFailurePolicy; successPolicy *SuccessPolicy; backoffLimit *int32;
	backoffLimitPerIndex *int32; maxFailedIndexes *int32; selector *LabelSelector; manualSelector *bool = false;
	template! PodTemplateSpec; ttlSecondsAfterFinished *int32; completionMode *string = "NonIndexed";
	suspend *bool = false; podReplacementPolicy *string; managedBy *string; }
JobStatus { conditions []JobCondition @merge(type); startTime *Time; completionTime *Time; active int32;
	succeeded int32; failed int32; terminating *int32; completedIndexes string; failedIndexes *string;
	uncountedTerminatedPods *UncountedTerminatedPods; ready *int32; }
PodFailurePolicy { rules! []PodFailurePolicyRule; }
SuccessPolicy { rules! []SuccessPolicyRule; }
JobCondition { type! string; status! string; lastProbeTime Time; lastTransitionTime Time; reason string;
	message string; }
UncountedTerminatedPods { succeeded []string @set; failed []string @set; }
PodFailurePolicyRule { action! string; onExitCodes *PodFailurePolicyOnExitCodesRequirement;
	onPodConditions []PodFailurePolicyOnPodConditionsPattern; }
SuccessPolicyRule { succeededIndexes *string; succeededCount *int32; }
PodFailurePolicyOnExitCodesRequirement { containerName *string; operator! string; values! []int32 @set; }
PodFailurePolicyOnPodConditionsPattern { type! string; status+ string = "True"; }
) },
{ "io.k8s.api.policy.v1", TYPES(
PodDisruptionBudget { ...TypeMeta; metadata ObjectMeta; spec PodDisruptionBudgetSpec;
	status PodDisruptionBudgetStatus; }
Eviction { ...TypeMeta; metadata ObjectMeta; deleteOptions *DeleteOptions; }
PodDisruptionBudgetSpec { minAvailable *IntOrString; selector *LabelSelector @replace; maxUnavailable *IntOrString;
	unhealthyPodEvictionPolicy *string; }
PodDisruptionBudgetStatus { observedGeneration int64; disruptedPods map Time; disruptionsAllowed+ int32;
	currentHealthy+ int32; desiredHealthy+ int32; expectedPods+ int32; conditions []Condition @map(type); }
) },
{ "io.k8s.api.coordination.v1", TYPES(
Lease { ...TypeMeta; metadata ObjectMeta; spec LeaseSpec; }
LeaseSpec { holderIdentity *string; leaseDurationSeconds *int32; acquireTime *MicroTime; renewTime *MicroTime;
	leaseTransitions *int32; strategy *string; preferredHolder *string; }
) },
{ "io.k8s.api.events.v1", TYPES(
Event { ...TypeMeta; metadata+ ObjectMeta; eventTime! MicroTime; series *EventSeries; reportingController string;
	reportingInstance string; action string; reason string; regarding ObjectReference; related *ObjectReference;
	note string; type string; deprecatedSource EventSource; deprecatedFirstTimestamp Time;
	deprecatedLastTimestamp Time; deprecatedCount int32; }
EventSeries { count! int32; lastObservedTime! MicroTime; }
) },
{ "io.k8s.api.authorization.v1", TYPES(
SelfSubjectAccessReview { ...TypeMeta; metadata ObjectMeta; spec! SelfSubjectAccessReviewSpec;
	status SubjectAccessReviewStatus; }
SelfSubjectRulesReview { ...TypeMeta; metadata ObjectMeta; spec! SelfSubjectRulesReviewSpec;
	status SubjectRulesReviewStatus; }
SelfSubjectAccessReviewSpec { resourceAttributes *ResourceAttributes; nonResourceAttributes *NonResourceAttributes; }
SubjectAccessReviewStatus { allowed! bool; denied bool; reason string; evaluationError string; }
SelfSubjectRulesReviewSpec { namespace string; }
SubjectRulesReviewStatus { resourceRules! []ResourceRule; nonResourceRules! []NonResourceRule; incomplete! bool;
	evaluationError string; }
ResourceAttributes { namespace string; verb string; group string; version string; resource string;
	subresource string; name string; fieldSelector *FieldSelectorAttributes;
	labelSelector *LabelSelectorAttributes; }
NonResourceAttributes { path string; verb string; }
ResourceRule { verbs! []string; apiGroups []string; resources []string; resourceNames []string; }
NonResourceRule { verbs! []string; nonResourceURLs []string; }
FieldSelectorAttributes { rawSelector string; requirements []FieldSelectorRequirement; }
LabelSelectorAttributes { rawSelector string; requirements []LabelSelectorRequirement; }
) },
{ "io.k8s.api.authentication.v1", TYPES(
SelfSubjectReview { ...TypeMeta; metadata ObjectMeta; status SelfSubjectReviewStatus; }
SelfSubjectReviewStatus { userInfo UserInfo; }
TokenRequest { ...TypeMeta; metadata ObjectMeta; spec+ TokenRequestSpec; status TokenRequestStatus; }
TokenRequestSpec { audiences! []string; expirationSeconds *int64; boundObjectRef *BoundObjectReference; }
TokenRequestStatus { token! string; expirationTimestamp! Time; }
BoundObjectReference { kind string; apiVersion string; name string; uid string; }
UserInfo { username string; uid string; groups []string; extra map []string; }
) },
{ "io.k8s.api.storage.v1", TYPES(
StorageClass { ...TypeMeta; metadata ObjectMeta; provisioner! string; parameters map string;
	reclaimPolicy *string = "Delete"; mountOptions []string; allowVolumeExpansion *bool;
	volumeBindingMode *string = "Immediate"; allowedTopologies []TopologySelectorTerm; }
) },
{ "io.k8s.api.scheduling.v1", TYPES(
PriorityClass { ...TypeMeta; metadata ObjectMeta; value+ int32; globalDefault bool; description string;
	preemptionPolicy *string = "PreemptLowerPriority"; }
) },
{ "io.k8s.api.rbac.v1", TYPES(
Role { ...TypeMeta; metadata ObjectMeta; rules+ []PolicyRule; }
RoleBinding { ...TypeMeta; metadata ObjectMeta; subjects []Subject; roleRef! RoleRef; }
ClusterRole { ...TypeMeta; metadata ObjectMeta; rules+ []PolicyRule; aggregationRule *AggregationRule; }
ClusterRoleBinding { ...TypeMeta; metadata ObjectMeta; subjects []Subject; roleRef! RoleRef; }
PolicyRule { verbs! []string; apiGroups []string; resources []string; resourceNames []string;
	nonResourceURLs []string; }
Subject @atomic { kind! string; apiGroup string; name! string; namespace string; }
RoleRef @atomic { apiGroup+ string = "rbac.authorization.k8s.io"; kind! string; name! string; }
AggregationRule { clusterRoleSelectors []LabelSelector; }
) },
{ "io.k8s.api.autoscaling.v1", TYPES(
Scale { ...TypeMeta; metadata ObjectMeta; spec ScaleSpec; status ScaleStatus; }
ScaleSpec { replicas int32; }
ScaleStatus { replicas! int32; selector string; }
) },
{ "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1", TYPES(
CustomResourceDefinition { ...TypeMeta; metadata ObjectMeta; spec! CustomResourceDefinitionSpec;
	status CustomResourceDefinitionStatus; }
CustomResourceDefinitionSpec { group! string; names! CustomResourceDefinitionNames; scope! string;
	versions! []CustomResourceDefinitionVersion; conversion *CustomResourceConversion = {"strategy":"None"};
	preserveUnknownFields bool; }
CustomResourceDefinitionStatus { conditions+ []CustomResourceDefinitionCondition @map(type) @nomerge;
	acceptedNames+ CustomResourceDefinitionNames; storedVersions+ []string; observedGeneration int64; }
CustomResourceDefinitionNames { plural! string; singular string; shortNames []string; kind! string; listKind string;
	categories []string; }
CustomResourceDefinitionVersion { name! string; served! bool; storage! bool; deprecated bool;
	deprecationWarning *string; schema *CustomResourceValidation; subresources *CustomResourceSubresources;
	additionalPrinterColumns []CustomResourceColumnDefinition; selectableFields []SelectableField; }
CustomResourceConversion { strategy! string; webhook *any; }
CustomResourceDefinitionCondition { type! string; status! string; lastTransitionTime Time; reason string;
	message string; observedGeneration int64; }
CustomResourceValidation { openAPIV3Schema *JSONSchemaProps; }
CustomResourceSubresources { status *any; scale *CustomResourceSubresourceScale; }
CustomResourceColumnDefinition { name! string; type! string; format string; description string; priority int32;
	jsonPath! string; }
SelectableField { jsonPath! string; }
JSONSchemaProps { id string; $schema string; $ref *string; description string; type string; format string;
	title string; default *any; maximum *number; exclusiveMaximum bool; minimum *number; exclusiveMinimum bool;
	maxLength *int64; minLength *int64; pattern string; maxItems *int64; minItems *int64; uniqueItems bool;
	multipleOf *number; enum []any; maxProperties *int64; minProperties *int64; required []string; items *any;
	allOf []JSONSchemaProps; oneOf []JSONSchemaProps; anyOf []JSONSchemaProps; not *JSONSchemaProps;
	properties map JSONSchemaProps; additionalProperties *any; patternProperties map JSONSchemaProps;
	dependencies map any; additionalItems *any; definitions map JSONSchemaProps;
	externalDocs *ExternalDocumentation; example *any; nullable bool; x-kubernetes-preserve-unknown-fields *bool;
	x-kubernetes-embedded-resource bool; x-kubernetes-int-or-string bool; x-kubernetes-list-map-keys []string;
	x-kubernetes-list-type *string; x-kubernetes-map-type *string;
	x-kubernetes-validations []ValidationRule @map(rule); }
CustomResourceSubresourceScale { specReplicasPath! string; statusReplicasPath! string; labelSelectorPath *string; }
ExternalDocumentation { description string; url string; }
ValidationRule { rule! string; message string; messageExpression string; reason *string; fieldPath string;
	optionalOldSelf *bool; }
) },
{ NULL, NULL },
};
