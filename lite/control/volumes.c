/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Claims get volumes: one that is there and fits, or one made for it. A class's claims are made at once, or when the
 * claim says on which node its first consumer will run; then the volume can only be reached from there. Volumes are
 * directories that the node agent makes (CSI driver "lite"). One step a look: the change comes back as the next.
 *
 * Keys: "namespace/name" is a claim, "name" a volume.
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/claims.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "json/json.h"

#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"
#define BOUND_BY_US ANNOTATION_BOUND_BY_CONTROLLER
#define BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define HOSTNAME "kubernetes.io/hostname"

static const struct kind *claim_kind(void)
{
	return kind_of("", "persistentvolumeclaims");
}

static const struct kind *volume_kind(void)
{
	return kind_of("", "persistentvolumes");
}

/* ---- what to look at ---- */

static void mark_claims(struct controller *c)
{
	for (size_t i = 0; i < c->control->claims->n; i++)
		if (!strstr(c->control->claims->items[i]->text, "\"phase\":\"Bound\""))
			mark_item(c, c->control->claims->items[i], 0);
}

/* The other half: a volume's claim, a claim's volume. */
static void mark_other(struct controller *c, const struct item *i, bool is_claim)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(i);
	yyjson_val *spec = val_at(yyjson_doc_get_root(doc), "spec"), *ref = json_get(spec, "claimRef");
	const char *volume = json_str(json_get(spec, "volumeName"));
	_cleanup_free_ char *key = NULL;

	if (is_claim && !str_empty(volume)) {
		mark(c, volume, 0);
	} else if (!is_claim && ref) {
		key = str_printf("%s/%s", str_or(json_str(json_get(ref, "namespace")), ""),
		                 str_or(json_str(json_get(ref, "name")), ""));
		mark(c, key, 0);
	}
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	bool is_claim = in == c->control->claims, is_volume = in == c->control->volumes;

	if (is_claim || is_volume) {
		mark_item(c, e->item, 0);
		mark_other(c, e->item, is_claim);
	}
	if (is_volume || in == c->control->classes || (in == c->control->nodes && e->change == CHANGE_DELETED))
		mark_claims(c);
}

/* ---- one claim ---- */

struct subject {
	struct item *item;
	yyjson_doc *doc;
	yyjson_val *root, *spec;
	const char *uid, *class, *volume, *node; /* may be NULL; node: where its first consumer will be */
	char *ns;
};

static void subject_done(struct subject *s)
{
	yyjson_doc_free(s->doc);
	item_unref(s->item);
	free(s->ns);
}

static bool find(struct collection *in, const char *key, struct subject *s)
{
	*s = (struct subject) { .item = item_ref(get_item(in, key)) };
	if (!s->item)
		return false;
	s->doc = reg_read(s->item);
	s->root = yyjson_doc_get_root(s->doc);
	s->spec = json_get(s->root, "spec");
	s->uid = json_str(val_at(s->root, "metadata", "uid"));
	s->class = json_str(json_get(s->spec, "storageClassName"));
	s->volume = json_str(json_get(s->spec, "volumeName"));
	s->node = json_str(val_at(s->root, "metadata", "annotations", ANNOTATION_SELECTED_NODE));
	s->ns = mem_strndup(s->item->key, s->item->ns_len);
	return true;
}

static const char *phase_of(const struct subject *s)
{
	return str_or(json_str(val_at(s->root, "status", "phase")), "");
}

static void set_phase(struct controller *c, const struct kind *k, const struct subject *s, const char *phase)
{
	yyjson_mut_doc *doc;

	if (str_eq(phase_of(s), phase))
		return;
	doc = reg_doc(k, s->item);
	obj_set_str(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "status"), "phase", phase);
	write_status(c, k, s->item, doc);
}

/* Both named each other once. */
static bool has_got(const struct subject *claim)
{
	return val_at(claim->root, "metadata", "annotations", BIND_COMPLETED);
}

static bool is_ref_to(yyjson_val *ref, const struct subject *claim)
{
	const char *uid = json_str(json_get(ref, "uid"));

	return str_eq(json_str(json_get(ref, "namespace")), claim->ns) &&
	       str_eq(json_str(json_get(ref, "name")), claim->item->name) &&
	       (str_empty(uid) || str_eq(uid, claim->uid));
}

/* ---- a volume that is there ---- */

/* The one that the claim itself asks for. */
static struct item *named_volume(struct controller *c, const struct subject *claim)
{
	struct item *i = get_item(c->control->volumes, claim->volume);
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc), *ref = val_at(root, "spec", "claimRef");

	return i && !is_deleting(root) && (!ref || is_ref_to(ref, claim)) ? i : NULL;
}

/* One that names the claim, or else the smallest that would do; only the former when the claim waits for a consumer. Where it
 * can be reached from does not count, as in Kubernetes: to choose by that is the scheduler's part. */
static struct item *find_volume(struct controller *c, const struct subject *claim, bool waits)
{
	struct collection *in = c->control->volumes;
	_cleanup_free_ struct pvc *asked = view_decode(c->control->view, KUBE_CLAIMS, claim->item);
	_cleanup_free_ struct pv **all = mem_alloc_n(in->n, sizeof(*all));
	struct candidates found = { 0 };
	const struct pv *best;
	struct item *ret;

	for (size_t i = 0; asked && i < in->n; i++) {
		all[i] = view_decode(c->control->view, KUBE_VOLUMES, in->items[i]);
		if (all[i])
			candidates_add(&found, asked, all[i]);
	}
	best = found.own || !waits ? candidates_smallest(&found) : NULL;
	ret = best ? get_item(in, best->meta.name) : NULL;
	candidates_done(&found);
	for (size_t i = 0; i < in->n; i++)
		free(all[i]);
	return ret;
}

/* ---- binding ---- */

void set_claim_ref(yyjson_mut_doc *doc, const struct meta *claim)
{
	yyjson_mut_val *ref = obj_make(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), "claimRef");

	obj_set_str(doc, ref, "kind", "PersistentVolumeClaim");
	obj_set_str(doc, ref, "apiVersion", "v1");
	obj_set_str(doc, ref, "namespace", claim->ns);
	obj_set_str(doc, ref, "name", claim->name);
	obj_set_str(doc, ref, "uid", str_or(claim->uid, ""));
	if (!str_empty(claim->resource_version))
		obj_set_str(doc, ref, "resourceVersion", claim->resource_version);
}

static struct meta meta_of(const struct subject *claim)
{
	return (struct meta) {
		.ns = claim->ns,
		.name = claim->item->name,
		.uid = claim->uid,
		.resource_version = json_str(val_at(claim->root, "metadata", "resourceVersion")),
	};
}

static void bind_volume(struct controller *c, const struct subject *claim, struct item *volume, bool is_ours)
{
	yyjson_mut_doc *doc = reg_doc(volume_kind(), volume);
	const struct meta meta = meta_of(claim);

	set_claim_ref(doc, &meta);
	if (is_ours)
		set_annotation(doc, BOUND_BY_US, "yes");
	write_object(c, volume_kind(), volume, doc);
}

static void bind_claim(struct controller *c, const struct subject *claim, const struct item *volume)
{
	yyjson_mut_doc *doc = reg_doc(claim_kind(), claim->item);

	obj_set_str(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), "volumeName", volume->name);
	set_annotation(doc, BIND_COMPLETED, "yes");
	set_annotation(doc, BOUND_BY_US, "yes");
	write_object(c, claim_kind(), claim->item, doc);
}

static void finish_claim(struct controller *c, const struct subject *claim, yyjson_val *volume_spec)
{
	yyjson_mut_doc *doc = reg_doc(claim_kind(), claim->item);
	yyjson_mut_val *status = obj_make(doc, yyjson_mut_doc_get_root(doc), "status");

	obj_set_str(doc, status, "phase", "Bound");
	obj_set(doc, status, "accessModes", yyjson_val_mut_copy(doc, json_get(volume_spec, "accessModes")));
	obj_set(doc, status, "capacity", yyjson_val_mut_copy(doc, json_get(volume_spec, "capacity")));
	write_status(c, claim_kind(), claim->item, doc);
}

/* The next step towards both naming each other. */
static void bind(struct controller *c, const struct subject *claim, struct item *volume)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(volume);
	yyjson_val *spec = val_at(yyjson_doc_get_root(doc), "spec");

	if (str_empty(json_str(val_at(spec, "claimRef", "uid"))))
		bind_volume(c, claim, volume, !json_get(spec, "claimRef"));
	else if (!str_eq(claim->volume, volume->name) || !has_got(claim))
		bind_claim(c, claim, volume);
	else
		finish_claim(c, claim, spec);
}

/* ---- a volume is made ---- */

static void add_affinity(yyjson_mut_doc *doc, yyjson_mut_val *spec, const struct vnode *n)
{
	yyjson_mut_val *required = obj_make(doc, obj_make(doc, spec, "nodeAffinity"), "required");
	yyjson_mut_val *term = yyjson_mut_arr_add_obj(doc, obj_make_arr(doc, required, "nodeSelectorTerms")), *r;
	const char *host = pair_get(n->node->meta.labels, n->node->meta.n_labels, HOSTNAME);

	r = yyjson_mut_arr_add_obj(doc, obj_make_arr(doc, term, host ? "matchExpressions" : "matchFields"));
	obj_set_str(doc, r, "key", host ? HOSTNAME : "metadata.name");
	obj_set_str(doc, r, "operator", "In");
	yyjson_mut_arr_add_strcpy(doc, obj_make_arr(doc, r, "values"), host ? host : n->name);
}

static void provision(struct controller *c, const struct subject *claim, yyjson_val *class, const struct vnode *n)
{
	_cleanup_free_ char *name = str_printf("pvc-%s", str_or(claim->uid, ""));
	const char *provisioner = str_or(json_str(json_get(class, "provisioner")), "");
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *spec, *csi;
	const struct meta meta = meta_of(claim);

	obj_set_str(doc, root, "kind", "PersistentVolume");
	obj_set_str(doc, root, "apiVersion", "v1");
	obj_set_str(doc, obj_make(doc, root, "metadata"), "name", name);
	set_annotation(doc, PROVISIONED_BY, provisioner);
	spec = obj_make(doc, root, "spec");
	obj_set(doc, obj_make(doc, spec, "capacity"), "storage",
	        yyjson_val_mut_copy(doc, val_at(claim->spec, "resources", "requests", "storage")));
	csi = obj_make(doc, spec, "csi");
	obj_set_str(doc, csi, "driver", LITE_DRIVER);
	obj_set_str(doc, csi, "volumeHandle", name);
	obj_set(doc, spec, "accessModes", yyjson_val_mut_copy(doc, json_get(claim->spec, "accessModes")));
	set_claim_ref(doc, &meta);
	obj_set_str(doc, spec, "persistentVolumeReclaimPolicy",
	            str_or(json_str(json_get(class, "reclaimPolicy")), "Delete"));
	obj_set_str(doc, spec, "storageClassName", claim->class);
	if (n)
		add_affinity(doc, spec, n);
	if (create_object(c, volume_kind(), NULL, doc, NULL) == 0)
		tell(c, claim_kind(), claim->item, "Normal", "ProvisioningSucceeded",
		     "Successfully provisioned volume %s", name);
}

/* The node is gone: another one may be chosen. */
static void unselect(struct controller *c, const struct subject *claim)
{
	yyjson_mut_doc *doc = reg_doc(claim_kind(), claim->item);

	obj_drop(obj_at(yyjson_mut_doc_get_root(doc), "metadata", "annotations"), ANNOTATION_SELECTED_NODE);
	write_object(c, claim_kind(), claim->item, doc);
}

static void use_default_class(struct controller *c, const struct subject *claim)
{
	for (size_t i = 0; i < c->control->classes->n; i++) {
		struct item *class = c->control->classes->items[i];
		yyjson_mut_doc *doc;

		if (!strstr(class->text, "\"" DEFAULT_CLASS "\":\"true\""))
			continue;
		doc = reg_doc(claim_kind(), claim->item);
		obj_set_str(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), "storageClassName", class->name);
		write_object(c, claim_kind(), claim->item, doc);
		return;
	}
}

static void make_volume(struct controller *c, const struct subject *claim, yyjson_val *class, bool waits)
{
	const struct vnode *n = waits ? view_get_node(c->control->view, claim->node) : NULL;

	if (str_eq(json_str(json_get(class, "provisioner")), NO_PROVISIONER))
		return;
	if (waits && (!n || !n->node))
		unselect(c, claim);
	else
		provision(c, claim, class, n);
}

static void look_at_unbound(struct controller *c, const struct subject *claim)
{
	struct item *i = str_empty(claim->class) ? NULL : get_item(c->control->classes, claim->class), *volume;
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	yyjson_val *class = doc ? yyjson_doc_get_root(doc) : NULL;
	bool waits = str_eq(json_str(json_get(class, "volumeBindingMode")), "WaitForFirstConsumer");
	bool selected = !str_empty(claim->node);

	volume = str_empty(claim->volume) ? find_volume(c, claim, waits) : named_volume(c, claim);
	if (volume)
		bind(c, claim, volume);
	else if (!str_empty(claim->volume))
		set_phase(c, claim_kind(), claim, "Pending"); /* that one, or none */
	else if (!claim->class)
		use_default_class(c, claim);
	else if (!class && *claim->class)
		tell(c, claim_kind(), claim->item, "Warning", "ProvisioningFailed",
		     "storageclass.storage.k8s.io \"%s\" not found", claim->class);
	else if (waits && !selected)
		tell(c, claim_kind(), claim->item, "Normal", "WaitForFirstConsumer",
		     "waiting for first consumer to be created before binding");
	else if (class)
		make_volume(c, claim, class, waits);
}

static void look_at_claim(struct controller *c, const char *key)
{
	_cleanup_(subject_done) struct subject claim;

	if (!find(c->control->claims, key, &claim) || is_deleting(claim.root))
		return;
	if (has_got(&claim) && !get_item(c->control->volumes, str_or(claim.volume, "")))
		set_phase(c, claim_kind(), &claim, "Lost");
	else if (!str_eq(phase_of(&claim), "Bound"))
		look_at_unbound(c, &claim);
}

/* ---- one volume ---- */

/* Its claim has another one. */
static void take_back(struct controller *c, const struct subject *volume)
{
	yyjson_mut_doc *doc = reg_doc(volume_kind(), volume->item);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	if (val_at(volume->root, "metadata", "annotations", BOUND_BY_US)) {
		obj_drop(obj_at(root, "spec"), "claimRef");
		obj_drop(obj_at(root, "metadata", "annotations"), BOUND_BY_US);
	} else { /* a person's choice stays one */
		obj_drop(obj_at(root, "spec", "claimRef"), "uid");
	}
	write_object(c, volume_kind(), volume->item, doc);
}

static void look_at_volume(struct controller *c, const char *name)
{
	_cleanup_(subject_done) struct subject volume = { 0 }, claim = { 0 };
	_cleanup_free_ char *key = NULL;
	const char *uid;
	yyjson_val *ref;

	if (!find(c->control->volumes, name, &volume) || is_deleting(volume.root))
		return;
	ref = json_get(volume.spec, "claimRef");
	uid = json_str(json_get(ref, "uid"));
	if (str_empty(uid)) {
		set_phase(c, volume_kind(), &volume, "Available");
		return;
	}
	key = str_printf("%s/%s", str_or(json_str(json_get(ref, "namespace")), ""),
	                 str_or(json_str(json_get(ref, "name")), ""));
	if (find(c->control->claims, key, &claim) && str_eq(claim.uid, uid)) {
		if (str_eq(claim.volume, name))
			set_phase(c, volume_kind(), &volume, "Bound");
		else if (!str_empty(claim.volume))
			take_back(c, &volume);
		return;
	}
	if (str_eq(json_str(json_get(volume.spec, "persistentVolumeReclaimPolicy")), "Delete"))
		delete_object(c, volume_kind(), NULL, name, &DELETE_USUAL);
	else
		set_phase(c, volume_kind(), &volume, "Released");
}

static void look(struct controller *c, const char *key)
{
	if (strchr(key, '/'))
		look_at_claim(c, key);
	else
		look_at_volume(c, key);
}

const struct controller_ops volumes_ops = { "persistentvolume-controller", NULL, NULL, changed, look };
