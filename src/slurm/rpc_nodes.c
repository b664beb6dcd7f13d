/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nodes as Slurm holds them → struct snode, and changes to them.
 */
#include <errno.h>
#include <strings.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/rpc.h"
#include "slurm/words.h"

#define CREATE_MAX 256 /* nodes that one line may create */

static const int states[] = {
	[NODE_STATE_UNKNOWN] = NODE_UNKNOWN,     [NODE_STATE_DOWN] = NODE_DOWN,   [NODE_STATE_IDLE] = NODE_IDLE,
	[NODE_STATE_ALLOCATED] = NODE_ALLOCATED, [NODE_STATE_ERROR] = NODE_ERROR, [NODE_STATE_MIXED] = NODE_MIXED,
	[NODE_STATE_FUTURE] = NODE_FUTURE,
};

static const struct {
	uint64_t bit;
	uint32_t flag;
} flags[] = {
	{ NODE_STATE_DRAIN, NODEF_DRAIN },
	{ NODE_STATE_COMPLETING, NODEF_COMPLETING },
	{ NODE_STATE_NO_RESPOND, NODEF_NO_RESPOND },
	{ NODE_STATE_FAIL, NODEF_FAIL },
	{ NODE_STATE_MAINT, NODEF_MAINT },
	{ NODE_STATE_RES, NODEF_RESERVED },
	{ NODE_STATE_REBOOT_REQUESTED, NODEF_REBOOT_REQUESTED },
	{ NODE_STATE_REBOOT_ISSUED, NODEF_REBOOT_ISSUED },
	{ NODE_STATE_POWERED_DOWN, NODEF_POWERED_DOWN },
	{ NODE_STATE_POWERING_UP, NODEF_POWERING_UP },
	{ NODE_STATE_POWERING_DOWN, NODEF_POWERING_DOWN },
	{ NODE_STATE_DYNAMIC_NORM, NODEF_DYNAMIC },
	{ NODE_STATE_DYNAMIC_FUTURE, NODEF_DYNAMIC },
	{ NODE_STATE_INVALID_REG, NODEF_INVALID_REG },
	{ NODE_STATE_PLANNED, NODEF_PLANNED },
};

static void fill_node(const node_info_t *from, struct snode *n)
{
	uint32_t base = from->node_state & NODE_STATE_BASE;

	*n = (struct snode) {
		.name = from->name,
		.hostname = from->node_hostname,
		.address = from->node_addr,
		.partitions = from->partitions,
		.features = from->features,
		.features_active = from->features_act ? from->features_act : from->features,
		.reason = str_empty(from->reason) ? NULL : from->reason,
		.extra = from->extra,
		.comment = from->comment,
		.gres = from->gres,
		.gres_used = from->gres_used,
		.version = from->version,
		.state = base < ARRAY_LEN(states) ? states[base] : NODE_UNKNOWN,
		.cpus = from->cpus,
		.gpus = words_gpus(from->gres),
		.gpus_alloc = words_gpus(from->gres_used),
		.port = from->port,
		.memory_mb = from->real_memory,
		.booted = from->boot_time * USEC_SEC,
		.slurmd_started = from->slurmd_start_time * USEC_SEC,
		.last_busy = from->last_busy * USEC_SEC,
	};
	if (n->reason) {
		n->reason_uid = from->reason_uid;
		n->reason_set = from->reason_time * USEC_SEC;
	}
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (from->node_state & flags[i].bit)
			n->flags |= flags[i].flag;
	compat_node_alloc(from, &n->cpus_alloc, &n->memory_alloc_mb);
	/* what libslurm itself makes of it cannot be trusted: see NODE_FLAGS */
	if (n->state == NODE_ALLOCATED && n->cpus_alloc > 0 && n->cpus_alloc < from->cpus_efctv)
		n->state = NODE_MIXED;
}

static void answer_nodes(const struct slurm_request *rq, const node_info_msg_t *m, struct buf *out)
{
	struct slurm_result r = { .outcome = SLURM_OK, .as_of = m->last_update * USEC_SEC };

	r.nodes = mem_alloc_n(m->record_count, sizeof(struct snode));
	for (uint32_t i = 0; i < m->record_count; i++)
		if (m->node_array[i].name) /* slots kept free for dynamic nodes have none */
			fill_node(&m->node_array[i], &r.nodes[r.n++]);
	if (rq->verb == SLURM_LOAD_NODE && r.n == 0)
		rpc_fail(rq, ESLURM_INVALID_NODE_NAME, out);
	else
		rpc_done(rq, &r, out);
	free(r.nodes);
}

/* Not SHOW_MIXED: libslurm then calls a node mixed that has been taken down in the same second as its CPUs were counted. */
#define NODE_FLAGS (SHOW_ALL | SHOW_LOCAL | SHOW_DETAIL)

void rpc_load_nodes(const struct slurm_request *rq, struct buf *out)
{
	struct slurm_result unchanged = { .outcome = SLURM_UNCHANGED, .as_of = rq->since };
	partition_info_msg_t *parts = NULL;
	node_info_msg_t *m = NULL;
	int code;

	errno = 0;
	code = rpc_code(slurm_load_node((time_t)(rq->since / USEC_SEC), &m, NODE_FLAGS));
	if (!code && m)
		code = rpc_code(slurm_load_partitions(0, &parts, SHOW_ALL | SHOW_LOCAL));
	if (code == SLURM_NO_CHANGE_IN_DATA)
		rpc_done(rq, &unchanged, out);
	else if (code || !m)
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
	else {
		slurm_populate_node_partitions(m, parts);
		answer_nodes(rq, m, out);
	}
	if (parts)
		slurm_free_partition_info_msg(parts);
	if (m)
		slurm_free_node_info_msg(m);
}

/* One node's partitions, by name: its place in the table of all nodes is not known here. */
static char *partitions_of(const partition_info_msg_t *parts, const char *node)
{
	struct buf b = BUF(1 << 20);

	for (uint32_t i = 0; i < parts->record_count; i++) {
		_cleanup_hostlist_ struct hostlist nodes = HOSTLIST_INIT;

		if (hostlist_parse(&nodes, parts->partition_array[i].nodes, NULL) == 0 && hostlist_has(&nodes, node))
			buf_printf(&b, "%s%s", b.len ? "," : "", parts->partition_array[i].name);
	}
	return b.len ? buf_take(&b) : NULL;
}

/* The controller does not count what is allocated anew for one node (it finds that too slow): cpus_alloc and
 * memory_alloc_mb may be older than the rest here. In a list of all nodes they are exact. */
void rpc_load_node(const struct slurm_request *rq, struct buf *out)
{
	_cleanup_free_ char *name = mem_strdup(rq->node), *in = NULL;
	partition_info_msg_t *parts = NULL;
	node_info_msg_t *m = NULL;
	int code;

	if (str_empty(name)) {
		rpc_refuse(rq, "no node is named", out);
		return;
	}
	errno = 0;
	code = rpc_code(slurm_load_node_single(&m, name, NODE_FLAGS));
	if (!code && m)
		code = rpc_code(slurm_load_partitions(0, &parts, SHOW_ALL | SHOW_LOCAL));
	if (code || !m)
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
	else {
		in = partitions_of(parts, name);
		if (m->record_count == 1 && m->node_array[0].name && !m->node_array[0].partitions) {
			m->node_array[0].partitions = in;
			answer_nodes(rq, m, out);
			m->node_array[0].partitions = NULL;
		} else
			answer_nodes(rq, m, out);
	}
	if (parts)
		slurm_free_partition_info_msg(parts);
	if (m)
		slurm_free_node_info_msg(m);
}

/* The state that a change asks for; NO_VAL for none. False when it asks for two at once. */
static bool wanted_state(uint32_t what, uint32_t *ret_state)
{
	static const struct {
		uint32_t bit, state;
	} table[] = {
		{ NODE_CHANGE_DRAIN, NODE_STATE_DRAIN },
		/* not NODE_RESUME, which fails on a node that is not drained */
		{ NODE_CHANGE_UNDRAIN, NODE_STATE_UNDRAIN },
		{ NODE_CHANGE_RESUME, NODE_RESUME },
		{ NODE_CHANGE_DOWN, NODE_STATE_DOWN },
	};
	int n = 0;

	*ret_state = NO_VAL;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (!(what & table[i].bit))
			continue;
		*ret_state = table[i].state;
		n++;
	}
	return n <= 1;
}

/* libslurm reads these texts only; its structs just do not say so. */
static char *text(const char *s)
{
	return (char *)str_or(s, "");
}

/* Why the node is not as the change expects it; NULL when it is. */
static const char *unexpected(const struct node_change *c, const struct snode *n)
{
	bool drained = n->flags & NODEF_DRAIN;

	if (c->expect_extra_is && !str_eq(str_or(n->extra, ""), str_or(c->expect_extra, "")))
		return "Extra is another one now";
	if (!c->expect)
		return NULL;
	if (n->state == NODE_DOWN && !c->expect_or_down)
		return "the node is down";
	if (n->state == NODE_DOWN && !drained && !str_eq(str_or(n->reason, ""), str_or(c->expect_reason, "")))
		return "the node is down for another reason now";
	if (drained != c->expect_drained)
		return drained ? "the node is drained now" : "the node is no longer drained";
	if (drained && (!str_eq(n->reason, c->expect_reason) || n->reason_uid != c->expect_reason_uid ||
	                n->reason_set != c->expect_reason_set))
		return "the drain is another one now";
	if (c->expect_answers && n->flags & NODEF_NO_RESPOND)
		return "slurmd does not answer";
	return NULL;
}

/* False when an answer (no) has been given instead. */
static bool check_expected(const struct slurm_request *rq, struct buf *out)
{
	_cleanup_free_ char *name = mem_strdup(rq->node);
	node_info_msg_t *m = NULL;
	const char *why = NULL;
	struct snode n;
	int code;

	errno = 0;
	code = rpc_code(slurm_load_node_single(&m, name, SHOW_ALL | SHOW_LOCAL));
	if (!code && (!m || m->record_count != 1 || !m->node_array[0].name))
		code = ESLURM_INVALID_NODE_NAME;
	if (code)
		rpc_fail(rq, code, out);
	else {
		fill_node(&m->node_array[0], &n);
		why = unexpected(rq->node_change, &n);
		if (why)
			rpc_conflict(rq, why, out);
	}
	if (m)
		slurm_free_node_info_msg(m);
	return !code && !why;
}

void rpc_change_node(const struct slurm_request *rq, struct buf *out)
{
	const struct node_change *c = rq->node_change;
	update_node_msg_t m;

	if (!c || str_empty(rq->node)) {
		rpc_refuse(rq, "no node or no change is named", out);
		return;
	}
	slurm_init_update_node_msg(&m);
	if (!wanted_state(c->what, &m.node_state)) {
		rpc_refuse(rq, "two states at once", out);
		return;
	}
	if (c->what & (NODE_CHANGE_DRAIN | NODE_CHANGE_DOWN | NODE_CHANGE_REASON)) {
		if (str_empty(c->reason)) {
			rpc_refuse(rq, "a reason is needed", out);
			return;
		}
		m.reason = text(c->reason);
		compat_set_reason_uid(&m, getuid());
	}
	m.node_names = text(rq->node);
	if (c->what & NODE_CHANGE_EXTRA)
		m.extra = text(c->extra);
	if (c->what & NODE_CHANGE_COMMENT)
		m.comment = text(c->comment);
	if (c->what & NODE_CHANGE_FEATURES)
		m.features = m.features_act = text(c->features);
	if ((c->expect || c->expect_extra_is) && !check_expected(rq, out))
		return;
	errno = 0;
	rpc_done_or_fail(rq, slurm_update_node(&m), out);
}

/* The value of NodeName in a line as in slurm.conf; NULL when there is none. */
static char *name_in_line(const char *line)
{
	static const char key[] = "nodename=";
	const char *p = line + strspn(line, " \t");

	while (*p) {
		size_t len = strcspn(p, " \t\n");

		if (len > strlen(key) && strncasecmp(p, key, strlen(key)) == 0)
			return mem_strndup(p + strlen(key), len - strlen(key));
		p += len;
		p += strspn(p, " \t\n");
	}
	return NULL;
}

/* Creating a node that is there already is refused by slurmctld 24.11, which then deletes that node. So it is looked
 * for first. True when an answer has been given. */
static bool refuse_existing(const struct slurm_request *rq, struct buf *out)
{
	_cleanup_hostlist_ struct hostlist names = HOSTLIST_INIT;
	_cleanup_free_ char *list = name_in_line(rq->text);
	struct err err = { 0 };

	if (hostlist_parse(&names, list, &err) < 0) {
		rpc_refuse(rq, err_text(&err), out);
		return true;
	}
	if (names.n > CREATE_MAX) {
		rpc_refuse(rq, "too many nodes in one line", out);
		return true;
	}
	for (size_t i = 0; i < names.n; i++) {
		node_info_msg_t *m = NULL;
		bool there;
		int code;

		errno = 0;
		code = rpc_code(slurm_load_node_single(&m, names.names[i], SHOW_ALL | SHOW_LOCAL));
		there = m && m->record_count > 0 && m->node_array[0].name;
		if (m)
			slurm_free_node_info_msg(m);
		if (code == ESLURM_INVALID_NODE_NAME || (!code && !there))
			continue;
		rpc_fail(rq, code ? code : ESLURM_NODE_ALREADY_EXISTS, out);
		return true;
	}
	return false;
}

void rpc_create_node(const struct slurm_request *rq, struct buf *out)
{
	update_node_msg_t m;

	if (str_empty(rq->text)) {
		rpc_refuse(rq, "no line that describes the node", out);
		return;
	}
	if (refuse_existing(rq, out))
		return;
	slurm_init_update_node_msg(&m);
	m.extra = text(rq->text);
	errno = 0;
	rpc_done_or_fail(rq, slurm_create_node(&m), out);
}

void rpc_delete_node(const struct slurm_request *rq, struct buf *out)
{
	update_node_msg_t m;

	if (str_empty(rq->node)) {
		rpc_refuse(rq, "no node is named", out);
		return;
	}
	slurm_init_update_node_msg(&m);
	m.node_names = text(rq->node);
	errno = 0;
	rpc_done_or_fail(rq, slurm_delete_node(&m), out);
}
