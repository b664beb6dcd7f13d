/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every verb on a real slurmctld, compared with what Slurm's own commands say.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "slurm/poll.h"
#include "slurm/test_real.h"
#include "slurm/words.h"

static struct real real;

#define ASK(...) (&(struct slurm_request) { __VA_ARGS__ })

static void assert_text(const char *is, const char *should)
{
	assert_non_null(is);
	assert_string_equal(is, should);
}

static void assert_value(const char *line, const char *key, const char *should)
{
	_cleanup_free_ char *is = real_value(line, key);

	if (!str_eq(is, should))
		fail_msg("%s is '%s', should be '%s'", key, is, should);
}

/* ---- the controller */

static void test_the_configuration_is_what_slurm_conf_says(void **state)
{
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_CONF));
	_cleanup_free_ char *version = real_sh("scontrol -V | cut -d' ' -f2 | tr -d '\\n'");

	(void)state;
	real_expect(&real, ASK(.verb = SLURM_PING), SLURM_OK, 0);
	assert_text(r.conf->cluster, "lab");
	assert_text(r.conf->version, version);
	assert_true(r.conf->version_number >= 2411);
	assert_int_equal(r.conf->kill_wait_s, 7);
	assert_int_equal(r.conf->prolog_timeout_s, 120);
	assert_int_equal(r.conf->message_timeout_s, 30);
	assert_int_equal(r.conf->min_job_age_s, 300);
	assert_int_equal(r.conf->inactive_limit_s, 0);
	assert_int_equal(r.conf->max_jobs, 50000);
	assert_text(r.conf->prolog_flags, "Alloc");
	assert_text(r.conf->preempt_type, "preempt/partition_prio");
	assert_non_null(strstr(r.conf->scheduler_parameters, "batch_sched_delay=0"));
	free(r.block);
}

static void test_partitions(void **state)
{
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_PARTITIONS));
	struct slurm_result again = real_call(&real, ASK(.verb = SLURM_LOAD_PARTITIONS, .since = r.as_of + USEC_HOUR));

	(void)state;
	assert_int_equal(again.outcome, SLURM_UNCHANGED);
	free(again.block);
	assert_int_equal(r.n, 3);
	for (uint32_t i = 0; i < r.n; i++) {
		const struct spartition *p = &r.partitions[i];

		assert_true(p->up);
		assert_int_equal(p->is_default, str_eq(p->name, "main"));
		assert_text(p->nodes, "n[1-4]");
		assert_int_equal(p->n_nodes, 4);
		assert_int_equal(p->cpus, 4 * 64);
		assert_int_equal(p->max_time_min, SLURM_TIME_LIMIT_INFINITE);
		if (str_eq(p->name, "high"))
			assert_int_equal(p->priority_tier, 100);
	}
	free(r.block);
}

/* sdiag prints "NAME ( id) count:N ave_time:N". */
static void test_statistics_agree_with_sdiag(void **state)
{
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_STATS));
	_cleanup_free_ char *sdiag = real_sh("sdiag");
	int known = 0;

	(void)state;
	assert_true(r.stats->taken > 0);
	assert_true(r.stats->threads > 0);
	assert_true(r.stats->n_rpcs > 0);
	for (uint32_t i = 0; i < r.stats->n_rpcs; i++) {
		_cleanup_free_ char *start = str_printf("\t%s ", r.stats->rpcs[i].type);

		if (!strstr(sdiag, start))
			fail_msg("sdiag knows no %s", r.stats->rpcs[i].type);
		assert_true(r.stats->rpcs[i].count > 0);
		known += str_starts(r.stats->rpcs[i].type, "REQUEST_") || str_starts(r.stats->rpcs[i].type, "MESSAGE_");
	}
	assert_int_equal(known, r.stats->n_rpcs); /* none shown as a number */
	free(r.block);
}

/* ---- nodes */

static void test_nodes_come_with_everything(void **state)
{
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_NODES));
	struct slurm_result unchanged = real_call(&real, ASK(.verb = SLURM_LOAD_NODES, .since = r.as_of + USEC_HOUR));

	(void)state;
	assert_int_equal(unchanged.outcome, SLURM_UNCHANGED);
	free(unchanged.block);
	assert_true(r.as_of > 0 && r.asked > 0);
	assert_int_equal(r.n, 4); /* slots without a node are none */
	for (uint32_t i = 0; i < r.n; i++) {
		const struct snode *n = &r.nodes[i];
		struct slurm_result one = real_node(&real, n->name);

		assert_int_equal(n->state, NODE_IDLE);
		assert_int_equal(n->flags & NODEF_DYNAMIC, 0);
		assert_int_equal(n->cpus, 64);
		assert_int_equal(n->memory_mb, 256000);
		assert_int_equal(n->gpus, 8);
		assert_int_equal(n->gpus_alloc, 0);
		assert_text(n->hostname, "localhost");
		assert_text(n->address, "127.0.0.1");
		assert_text(n->features, "static");
		assert_text(n->features_active, "static");
		assert_text(n->partitions, "main,high,low");
		assert_true(n->port > 0 && n->booted > 0 && n->slurmd_started > 0);
		assert_null(n->reason);
		assert_text(one.nodes[0].partitions, "main,high,low");
		assert_int_equal(one.nodes[0].port, n->port);
		free(one.block);
	}
	free(r.block);
	real_expect(&real, ASK(.verb = SLURM_LOAD_NODE, .node = "nowhere"), SLURM_GONE, 2018);
}

static void change_node(const char *node, const struct node_change *change)
{
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = node, .node_change = change), SLURM_OK, 0);
}

static void assert_node(const char *node, const char *key, const char *should)
{
	_cleanup_free_ char *line = real_sh("scontrol -o show node %s", node);

	assert_value(line, key, should);
}

static void test_drain_and_undrain(void **state)
{
	static const char reason[] = "k8s: cordon: it's \"broken\" $(touch x)";
	_cleanup_free_ char *line = NULL;
	struct slurm_result r;

	(void)state;
	change_node("n[1-2]", &(struct node_change) { .what = NODE_CHANGE_DRAIN, .reason = reason });
	for (int i = 1; i <= 2; i++) {
		r = real_node(&real, i == 1 ? "n1" : "n2");
		assert_true(r.nodes[0].flags & NODEF_DRAIN);
		assert_text(r.nodes[0].reason, reason);
		assert_int_equal(r.nodes[0].reason_uid, getuid());
		assert_true(r.nodes[0].reason_set > 0);
		free(r.block);
	}
	line = real_sh("scontrol -o show node n1");
	assert_non_null(strstr(line, "State=IDLE+DRAIN"));
	assert_non_null(strstr(line, reason));
	/* another reason while it is drained */
	change_node("n1", &(struct node_change) { .what = NODE_CHANGE_REASON, .reason = "k8s: pod not ready" });
	r = real_node(&real, "n1");
	assert_text(r.nodes[0].reason, "k8s: pod not ready");
	assert_true(r.nodes[0].flags & NODEF_DRAIN);
	free(r.block);
	/* as often as one likes, also when it is not drained */
	for (int i = 0; i < 2; i++)
		change_node("n[1-2]", &(struct node_change) { .what = NODE_CHANGE_UNDRAIN });
	r = real_node(&real, "n1");
	assert_false(r.nodes[0].flags & NODEF_DRAIN);
	free(r.block);
}

static void conflict(const char *node, const struct node_change *change)
{
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = node, .node_change = change), SLURM_CONFLICT, 0);
}

static void test_a_person_wins_against_a_decision_from_older_news(void **state)
{
	struct node_change drain = { .what = NODE_CHANGE_DRAIN, .reason = "k8s: cordon: x", .expect = true };
	struct node_change undrain = { .what = NODE_CHANGE_UNDRAIN, .expect = true, .expect_drained = true };
	struct slurm_result r;

	(void)state;
	/* undrained as expected: done; once more it is not as expected */
	change_node("n1", &drain);
	conflict("n1", &drain);
	r = real_node(&real, "n1");
	undrain.expect_reason = r.nodes[0].reason;
	undrain.expect_reason_uid = r.nodes[0].reason_uid;
	undrain.expect_reason_set = r.nodes[0].reason_set;
	free(real_sh("scontrol update nodename=n1 state=drain reason=mine"));
	conflict("n1", &undrain);
	assert_node("n1", "Reason", "mine");
	free(r.block);
	r = real_node(&real, "n1");
	undrain.expect_reason = r.nodes[0].reason;
	undrain.expect_reason_uid = r.nodes[0].reason_uid + 1;
	undrain.expect_reason_set = r.nodes[0].reason_set;
	conflict("n1", &undrain);
	undrain.expect_reason_uid--;
	change_node("n1", &undrain);
	conflict("n1", &undrain);
	free(r.block);
	r = real_node(&real, "n1");
	assert_false(r.nodes[0].flags & NODEF_DRAIN);
	free(r.block);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = "nowhere", .node_change = &drain), SLURM_GONE, 2018);
	/* the same for Extra */
	free(real_sh("scontrol update nodename=n1 extra=mine"));
	conflict("n1", &(struct node_change) { .what = NODE_CHANGE_EXTRA, .extra = "{}", .expect_extra_is = true });
	assert_node("n1", "Extra", "mine");
	change_node("n1",
	            &(struct node_change) {
	                    .what = NODE_CHANGE_EXTRA, .extra = "", .expect_extra_is = true, .expect_extra = "mine" });
	change_node("n1", &(struct node_change) { .what = NODE_CHANGE_EXTRA, .extra = "", .expect_extra_is = true });
}

static void test_extra_comment_and_features_of_a_node(void **state)
{
	static const char extra[] = "{\"k8sNode\":\"g1\",\"note\":\"a 'quote', $(touch x), `y`, ünïcode\"}";
	struct slurm_result r;

	(void)state;
	change_node("n3",
	            &(struct node_change) { .what = NODE_CHANGE_EXTRA | NODE_CHANGE_COMMENT | NODE_CHANGE_FEATURES,
	                                    .extra = extra,
	                                    .comment = "g-3",
	                                    .features = "static,zone-a" });
	r = real_node(&real, "n3");
	assert_text(r.nodes[0].extra, extra);
	assert_text(r.nodes[0].comment, "g-3");
	assert_text(r.nodes[0].features, "static,zone-a");
	assert_text(r.nodes[0].features_active, "static,zone-a");
	free(r.block);
	assert_node("n3", "Extra", "{\"k8sNode\":\"g1\",\"note\":\"a"); /* up to the blank */
	assert_node("n3", "Comment", "g-3");
	assert_node("n3", "AvailableFeatures", "static,zone-a");
	change_node("n3",
	            &(struct node_change) { .what = NODE_CHANGE_EXTRA | NODE_CHANGE_COMMENT | NODE_CHANGE_FEATURES,
	                                    .extra = "",
	                                    .features = "static" });
	r = real_node(&real, "n3");
	assert_true(str_empty(r.nodes[0].extra));
	assert_true(str_empty(r.nodes[0].comment));
	assert_text(r.nodes[0].features, "static");
	free(r.block);
}

static bool node_is(const char *name, int state)
{
	struct slurm_result r = real_node(&real, name);
	bool is = r.nodes[0].state == state && !(r.nodes[0].flags & NODEF_NO_RESPOND);

	free(r.block);
	return is;
}

static void test_down_and_resume(void **state)
{
	struct slurm_result r;

	(void)state;
	change_node("n4", &(struct node_change) { .what = NODE_CHANGE_DOWN, .reason = "test" });
	r = real_node(&real, "n4");
	assert_int_equal(r.nodes[0].state, NODE_DOWN);
	assert_text(r.nodes[0].reason, "test");
	free(r.block);
	change_node("n4", &(struct node_change) { .what = NODE_CHANGE_RESUME });
	REAL_WAIT(&real, 60, node_is("n4", NODE_IDLE));
}

static void test_changes_of_nodes_that_make_no_sense_are_refused(void **state)
{
	struct node_change both = { .what = NODE_CHANGE_DRAIN | NODE_CHANGE_UNDRAIN, .reason = "x" };
	struct node_change no_reason = { .what = NODE_CHANGE_DRAIN };
	struct node_change drain = { .what = NODE_CHANGE_DRAIN, .reason = "x" };

	(void)state;
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = "n1", .node_change = &both), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = "n1", .node_change = &no_reason), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = "n1"), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_NODE, .node = "nowhere", .node_change = &drain), SLURM_GONE, 2018);
}

static void test_a_dynamic_node_is_made_and_deleted(void **state)
{
	struct slurm_result r;

	(void)state;
	real_expect(
	        &real,
	        ASK(.verb = SLURM_CREATE_NODE,
	            .text = "NodeName=d1 NodeAddr=127.0.0.1 Port=1 CPUs=4 RealMemory=1000 Gres=gpu:h100:2 Feature=dyn "
	                    "State=CLOUD"),
	        SLURM_OK, 0);
	r = real_node(&real, "d1");
	assert_true(r.nodes[0].flags & NODEF_DYNAMIC);
	assert_int_equal(r.nodes[0].cpus, 4);
	assert_int_equal(r.nodes[0].gpus, 2);
	assert_text(r.nodes[0].partitions, "main,high,low");
	free(r.block);
	/* again: it is there, and stays (slurmctld 24.11 would delete it); nonsense; a static one; then gone, and gone
	 */
	real_expect(&real, ASK(.verb = SLURM_CREATE_NODE, .text = "NodeName=d1 CPUs=4 State=CLOUD"), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CREATE_NODE, .text = "CPUs=4  nodename=d[0-1] State=CLOUD"), SLURM_REFUSED,
	            0);
	r = real_node(&real, "d1");
	free(r.block);
	real_expect(&real, ASK(.verb = SLURM_CREATE_NODE, .text = "What=ever $(touch x)"), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CREATE_NODE), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_DELETE_NODE, .node = "n1"), SLURM_REFUSED, 2028);
	real_expect(&real, ASK(.verb = SLURM_DELETE_NODE, .node = "d1"), SLURM_OK, 0);
	real_expect(&real, ASK(.verb = SLURM_DELETE_NODE, .node = "d1"), SLURM_GONE, 2018);
	real_expect(&real, ASK(.verb = SLURM_LOAD_NODE, .node = "d1"), SLURM_GONE, 2018);
}

static bool exists_idle(const char *name)
{
	struct slurm_result n = real_call(&real, ASK(.verb = SLURM_LOAD_NODE, .node = name));
	bool idle = n.outcome == SLURM_OK && n.nodes[0].state == NODE_IDLE;

	free(n.block);
	return idle;
}

static bool try_delete(const char *name)
{
	struct slurm_result d = real_call(&real, ASK(.verb = SLURM_DELETE_NODE, .node = name));

	free(d.block);
	return d.outcome == SLURM_OK;
}

/* A node that registers itself and runs a job cannot be deleted before the job is over. */
static void test_a_busy_dynamic_node_is_not_deleted_now_but_later(void **state)
{
	_cleanup_free_ char *pid = NULL, *out = NULL;
	struct slurm_result r;
	bool deleted = false;
	uint32_t id;

	(void)state;
	pid = real_sh("slurmd -D -Z -N d2 -f %s/etc/slurm.conf --conf 'Port=%d CPUs=8 RealMemory=2000 Feature=dyn' "
	              ">%s/d2.log 2>&1 </dev/null 3>&- & printf %%s $!",
	              real_cluster(), 31000 + getpid() % 1000, real_work());
	REAL_WAIT(&real, 60, exists_idle("d2"));
	id = real_submit(&real, &(struct job_spec) { .name = "busy",
	                                             .script = "#!/bin/sh\nexec sleep 600\n",
	                                             .required = "d2",
	                                             .cpus = 2,
	                                             .memory_mb = 100,
	                                             .std_out = "/dev/null" });
	r = real_await(&real, id, JOB_RUNNING);
	assert_text(r.jobs[0].nodes, "d2");
	free(r.block);
	real_expect(&real, ASK(.verb = SLURM_DELETE_NODE, .node = "d2"), SLURM_RETRY, 2016);
	real_cancel(&real, id);
	r = real_await(&real, id, JOB_CANCELLED);
	free(r.block);
	out = real_sh("kill %s", pid);
	REAL_WAIT(&real, 60, deleted || (deleted = try_delete("d2")));
}

/* ---- jobs */

/* A node out of the list of all, where what is allocated is exact. The caller frees block. */
static const struct snode *listed_node(const char *name, struct slurm_result *ret)
{
	*ret = real_ok(&real, ASK(.verb = SLURM_LOAD_NODES));
	for (uint32_t i = 0; i < ret->n; i++)
		if (str_eq(ret->nodes[i].name, name))
			return &ret->nodes[i];
	fail_msg("no node %s", name);
	return NULL;
}

/* Not to be executed by anyone, and to come back as it went. */
#define NASTY "it's \"q\" $(touch %s/pwned) `touch %s/pwned` ;|&<>*?\\ %%j ünïcode"

static void assert_not_executed(void)
{
	_cleanup_free_ char *mark = str_printf("%s/pwned", real_work());

	assert_int_not_equal(access(mark, F_OK), 0);
}

static void test_every_field_of_a_job_arrives(void **state)
{
	_cleanup_free_ char *extra = str_printf("ns/pod/uid " NASTY, real_work(), real_work());
	_cleanup_free_ char *out = str_printf("%s/out-%%j", real_work()), *err = str_printf("%s/err-%%j", real_work());
	_cleanup_free_ char *made = NULL, *line = NULL, *gone = NULL, *want_out = NULL;
	const char *const env[] = { "PATH=/usr/bin:/bin", "A=1" };
	struct job_spec spec = {
		.name = "default.web-0",
		.script = "#!/bin/sh\ntrue\n",
		.extra = extra,
		.comment = extra,
		.account = "research",
		.partition = "low",
		.reservation = "held",
		.features = "static",
		.prefer = "static",
		.excluded = "n[2-3]",
		.required = "n1",
		.work_dir = real_work(),
		.std_out = out,
		.std_err = err,
		.tres_per_node = "gres:gpu:h100:2",
		.env = env,
		.n_env = 2,
		.uid = 1,
		.gid = 1,
		.cpus = 3,
		.time_limit_min = 7,
		.memory_mb = 500,
		.shared = SHARED_USER,
		.hold = true,
		.kill_on_node_fail = 1,
		.bell_host = "127.0.0.1",
		.bell_port = slurm_bell_port(real.port),
	};
	struct slurm_result r;
	const struct job *j;
	uint32_t id;

	(void)state;
	made = real_sh("scontrol create reservation ReservationName=held StartTime=now Duration=60 Users=daemon,root "
	               "Nodes=n1");
	id = real_submit(&real, &spec);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));
	assert_int_equal(r.n, 1);
	j = &r.jobs[0];
	assert_int_equal(j->id, id);
	assert_int_equal(j->array_job_id, 0);
	assert_int_equal(j->array_tasks, 1);
	assert_int_equal(j->state, JOB_PENDING);
	assert_text(j->name, "default.web-0");
	assert_text(j->extra, extra);
	assert_text(j->comment, extra);
	assert_text(j->account, "research");
	assert_text(j->partition, "low");
	assert_text(j->reservation, "held");
	assert_text(j->features, "static");
	assert_text(j->prefer, "static");
	assert_text(j->excluded, "n[2-3]");
	assert_text(j->required, "n1");
	assert_text(j->work_dir, real_work());
	assert_int_equal(j->gpus, 2);
	assert_int_equal(j->uid, 1);
	assert_int_equal(j->gid, 1);
	assert_text(j->user, "daemon");
	assert_int_equal(j->cpus, 3);
	assert_int_equal(j->n_nodes, 1);
	assert_int_equal(j->time_limit_min, 7);
	assert_int_equal(j->memory_mb, 500);
	assert_int_equal(j->shared, SHARED_USER);
	assert_int_equal(j->priority, 0); /* held */
	assert_non_null(j->reason);
	assert_true(j->submitted > 0);
	assert_int_equal(j->restarts, 0);
	assert_null(j->on_nodes);
	free(r.block);

	line = real_sh("scontrol -o show job %u", id);
	want_out = str_printf("%s/out-%u", real_work(), id);
	assert_value(line, "JobName", "default.web-0");
	assert_value(line, "UserId", "daemon(1)");
	assert_value(line, "GroupId", "daemon(1)");
	assert_value(line, "Account", "research");
	assert_value(line, "Partition", "low");
	assert_value(line, "Reservation", "held");
	assert_value(line, "Features", "static");
	assert_value(line, "ReqNodeList", "n1");
	assert_value(line, "ExcNodeList", "n[2-3]");
	assert_value(line, "WorkDir", real_work());
	assert_value(line, "StdOut", want_out);
	assert_value(line, "TimeLimit", "00:07:00");
	assert_value(line, "MinMemoryNode", "500M");
	assert_value(line, "CPUs/Task", "3");
	assert_value(line, "NumCPUs", "3");
	assert_value(line, "Priority", "0");
	assert_value(line, "Requeue", "0");
	assert_non_null(strstr(line, strstr(line, " Exclusive=") ? " Exclusive=USER"
	                                                         : " OverSubscribe=USER")); /* 26.05 : 24.11 */
	assert_non_null(strstr(line, "h100:2"));
	assert_non_null(strstr(line, extra));
	real_cancel(&real, id);
	gone = real_sh("scontrol delete ReservationName=held");
	assert_not_executed();
}

static void test_a_job_runs_with_what_it_asked_for_and_ends_with_its_code(void **state)
{
	_cleanup_free_ char *file = str_printf("%s/seen", real_work());
	_cleanup_free_ char *into = str_printf("FILE=%s", file);
	_cleanup_free_ char *nasty = str_printf("NASTY=" NASTY "\nsecond line", real_work(), real_work());
	_cleanup_free_ char *go = str_printf("GO=%s/go", real_work()), *touch = NULL, *detail = NULL;
	const char *const env[] = { "PATH=/usr/bin:/bin", nasty, into, go };
	struct job_spec spec = {
		.name = "runs",
		.script = "#!/bin/sh\nprintf '%s' \"$NASTY\" >\"$FILE\"\nwhile [ ! -e \"$GO\" ]; do sleep 0.1; "
		          "done\nexit 3\n",
		.partition = "high",
		.env = env,
		.n_env = 4,
		.cpus = 3,
		.memory_mb = 500,
		.tres_per_node = "gres:gpu:2",
		.has_priority = true,
		.priority = 1234,
		.std_out = "/dev/null",
		.uid = getuid(),
		.gid = getgid(),
	};
	_cleanup_buf_ struct buf seen = BUF(4096);
	const struct snode *node;
	struct slurm_result r, n;
	const struct job *j;
	uint32_t id = real_submit(&real, &spec);

	(void)state;
	r = real_await(&real, id, JOB_RUNNING);
	j = &r.jobs[0];
	assert_int_equal(j->priority, 1234);
	assert_int_equal(j->cpus, 3);
	assert_int_equal(j->gpus, 2);
	assert_int_equal(j->memory_mb, 500);
	assert_true(j->started > 0);
	assert_text(j->batch_host, j->nodes);
	assert_int_equal(j->n_on_nodes, 1);
	assert_text(j->on_nodes[0].node, j->nodes);
	assert_int_equal(j->on_nodes[0].cpus, 3);
	assert_int_equal(j->on_nodes[0].gpus, 2);
	assert_int_equal(j->on_nodes[0].memory_mb, 500);
	assert_text(j->work_dir, "/");
	node = listed_node(j->nodes, &n);
	assert_int_equal(node->state, NODE_MIXED);
	assert_int_equal(node->cpus_alloc, 3);
	assert_int_equal(node->gpus_alloc, 2);
	assert_int_equal(node->memory_alloc_mb, 500);
	free(n.block);
	assert_true(node_is(j->nodes, NODE_MIXED));
	free(r.block);
	touch = real_sh("touch %s/go", real_work());
	r = real_await(&real, id, JOB_FAILED);
	assert_int_equal(r.jobs[0].exit_status, 3);
	assert_int_equal(r.jobs[0].exit_signal, 0);
	assert_true(r.jobs[0].ended >= r.jobs[0].started);
	free(r.block);
	assert_int_equal(buf_read_file(&seen, file), 0);
	assert_string_equal(buf_text(&seen), nasty + strlen("NASTY="));
	assert_not_executed();
	real_expect(&real, ASK(.verb = SLURM_CANCEL, .job_id = id), SLURM_GONE, 0);
	real_expect(&real,
	            ASK(.verb = SLURM_CHANGE_JOB, .job_id = id,
	                .job_change = &(struct job_change) { .what = JOB_CHANGE_EXCLUDED, .excluded = "n1" }),
	            SLURM_GONE, 0);
}

static void test_a_signal_reaches_the_script(void **state)
{
	_cleanup_free_ char *file = str_printf("FILE=%s/signalled", real_work());
	const char *const env[] = { "PATH=/usr/bin:/bin", file };
	struct job_spec spec = {
		.name = "signal",
		.script = "#!/bin/sh\ntrap 'echo usr1 >\"$FILE\"; exit 5' USR1\necho ready >\"$FILE\"\nsleep 600 "
		          "&\nwait\n",
		.env = env,
		.n_env = 2,
		.memory_mb = 100,
		.std_out = "/dev/null",
	};
	_cleanup_buf_ struct buf seen = BUF(4096);
	uint32_t id = real_submit(&real, &spec);
	struct slurm_result r = real_await(&real, id, JOB_RUNNING);

	(void)state;
	free(r.block);
	REAL_WAIT(&real, 30,
	          (buf_clear(&seen), buf_read_file(&seen, file + 5) == 0 && str_eq(buf_text(&seen), "ready\n")));
	real_expect(&real, ASK(.verb = SLURM_SIGNAL, .job_id = id, .signal = 0), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_SIGNAL, .job_id = id, .signal = SIGUSR1), SLURM_OK, 0);
	r = real_await(&real, id, JOB_FAILED);
	assert_int_equal(r.jobs[0].exit_status, 5);
	free(r.block);
	buf_clear(&seen);
	assert_int_equal(buf_read_file(&seen, file + 5), 0);
	assert_string_equal(buf_text(&seen), "usr1\n");
}

static void test_a_waiting_job_is_changed(void **state)
{
	struct job_change change = { .what = JOB_CHANGE_EXTRA | JOB_CHANGE_EXCLUDED | JOB_CHANGE_COMMENT |
		                             JOB_CHANGE_REQUIRED | JOB_CHANGE_TIME_LIMIT | JOB_CHANGE_ADMIN_COMMENT,
		                     .extra = "ns/pod/uid: started",
		                     .admin_comment = "sunk: released",
		                     .excluded = "n[1-2]",
		                     .comment = "c $(x)",
		                     .required = "n4",
		                     .time_limit_min = 11 };
	struct job_spec spec = { .name = "change",
		                 .script = "#!/bin/sh\n",
		                 .memory_mb = 10,
		                 .excluded = "n[1,3]",
		                 .required = "n2",
		                 .admin_comment = "sunk: ns/pod/uid" };
	struct slurm_result r;
	uint32_t id;

	(void)state;
	change_node("n[2-4]", &(struct node_change) { .what = NODE_CHANGE_DRAIN, .reason = "test" });
	id = real_submit(&real, &spec);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));
	assert_text(r.jobs[0].admin_comment, "sunk: ns/pod/uid");
	free(r.block);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_JOB, .job_id = id, .job_change = &change), SLURM_OK, 0);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));
	assert_text(r.jobs[0].extra, "ns/pod/uid: started");
	assert_text(r.jobs[0].excluded, "n[1-2]");
	assert_text(r.jobs[0].required, "n4");
	assert_text(r.jobs[0].comment, "c $(x)");
	assert_text(r.jobs[0].admin_comment, "sunk: released");
	assert_int_equal(r.jobs[0].time_limit_min, 11);
	free(r.block);
	change = (struct job_change) { .what = JOB_CHANGE_EXCLUDED | JOB_CHANGE_PRIORITY | JOB_CHANGE_TIME_LIMIT |
		                               JOB_CHANGE_REQUIRED,
		                       .excluded = "",
		                       .priority = 77,
		                       .required = "n3",
		                       .time_limit_min = SLURM_TIME_LIMIT_INFINITE };
	real_expect(&real, ASK(.verb = SLURM_CHANGE_JOB, .job_id = id, .job_change = &change), SLURM_OK, 0);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));
	assert_true(str_empty(r.jobs[0].excluded));
	assert_text(r.jobs[0].required, "n3");
	assert_text(r.jobs[0].extra, "ns/pod/uid: started"); /* not named: left alone */
	assert_int_equal(r.jobs[0].priority, 77);
	assert_int_equal(r.jobs[0].time_limit_min, SLURM_TIME_LIMIT_INFINITE);
	free(r.block);
	change = (struct job_change) { .what = JOB_CHANGE_EXCLUDED, .excluded = "nowhere" };
	real_expect(&real, ASK(.verb = SLURM_CHANGE_JOB, .job_id = id, .job_change = &change), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_CHANGE_JOB, .job_id = 999999, .job_change = &change), SLURM_GONE, 2017);
	/* hold and release */
	for (int i = 0; i < 2; i++) {
		change = (struct job_change) { .what = JOB_CHANGE_PRIORITY, .priority = i == 0 ? 0 : UINT32_MAX };
		real_expect(&real, ASK(.verb = SLURM_CHANGE_JOB, .job_id = id, .job_change = &change), SLURM_OK, 0);
		r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));
		assert_int_equal(r.jobs[0].priority == 0, i == 0);
		free(r.block);
	}
	real_cancel(&real, id);
	change_node("n[2-4]", &(struct node_change) { .what = NODE_CHANGE_UNDRAIN });
	REAL_WAIT(&real, 60, node_is("n2", NODE_IDLE) && node_is("n3", NODE_IDLE) && node_is("n4", NODE_IDLE));
}

static void test_what_slurm_refuses_is_told_in_its_own_words(void **state)
{
	static const struct {
		struct job_spec spec;
		int code;
		const char *words;
	} cases[] = {
		{ { .name = "a", .script = "#!/bin/sh\n", .partition = "nowhere" }, 2000, "nvalid partition name" },
		{ { .name = "a", .script = "#!/bin/sh\n", .required = "nowhere" }, 0, "nvalid node name" },
		{ { .name = "a", .script = "#!/bin/sh\n", .memory_mb = 99999999 }, 0, "" },
		{ { .name = "a", .script = "#!/bin/sh\n", .features = "nothing-has-it" }, 0, "eature" },
		{ { .name = "a", .script = "#!/bin/sh\n", .reservation = "none" }, 0, "eservation" },
		{ { .name = "a", .script = "#!/bin/sh\n", .tres_per_node = "gres:gpu:9" }, 0, "" },
		{ { .name = "a", .script = "#!/bin/sh\n", .tres_per_node = "gres:warp-core:1" }, 0, "" },
		{ { .name = "a", .script = "no interpreter line" }, 0, "does not begin with #!" },
		{ { .name = "a" }, 0, "the job has no script" },
		{ { .name = "a", .script = "#!/bin/sh\n", .has_priority = true }, 0, "priority" },
		{ { .name = "a", .script = "#!/bin/sh\n", .cpus = 70000 }, 0, "CPUs" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct slurm_result r = real_call(&real, ASK(.verb = SLURM_SUBMIT, .spec = &cases[i].spec));

		if (r.outcome != SLURM_REFUSED || (cases[i].code && r.code != cases[i].code) ||
		    !strstr(r.message, cases[i].words))
			fail_msg("case %zu: outcome %d, code %d: %s", i, r.outcome, r.code, r.message);
		assert_true(str_starts(r.message, "submit a: "));
		assert_false(r.maybe_done);
		free(r.block);
	}
	real_expect(&real, ASK(.verb = SLURM_SUBMIT), SLURM_REFUSED, 0);
	real_expect(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = 999999), SLURM_GONE, 2017);
	real_expect(&real, ASK(.verb = SLURM_CANCEL, .job_id = 999999), SLURM_GONE, 2017);
	real_expect(&real, ASK(.verb = SLURM_CANCEL, .job_id = 0), SLURM_GONE, 2017);
}

/* Texts that a user controls come back as they went, or are refused; none is executed, none breaks a field. */
static void test_strange_texts_come_back_unchanged_or_are_refused(void **state)
{
	static const char *const texts[] = {
		"plain",
		"two words",
		"it's",
		"\"double\"",
		"back\\slash",
		"tab\there",
		"new\nline",
		"$(touch %s/pwned)",
		"`touch %s/pwned`",
		"; touch %s/pwned",
		"' ; touch %s/pwned ; '",
		"%%j %%x %%s%%n",
		"ünïcode 漢字",
		"\x01\x02",
		"a=b,c=d",
		"\xff\xfe not utf-8",
		"|&<>*?[]{}()!#~",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_free_ char *text = NULL;
		struct job_spec spec = { .script = "#!/bin/sh\n", .hold = true, .memory_mb = 10 };
		struct slurm_result r, j;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		text = str_printf(texts[i], real_work());
#pragma GCC diagnostic pop
		spec.name = spec.extra = spec.comment = spec.account = text;
		r = real_call(&real, ASK(.verb = SLURM_SUBMIT, .spec = &spec));
		if (r.outcome == SLURM_OK) {
			j = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = r.job_id));
			assert_text(j.jobs[0].name, text);
			assert_text(j.jobs[0].extra, text);
			assert_text(j.jobs[0].comment, text);
			free(j.block);
			real_cancel(&real, r.job_id);
		} else
			assert_int_equal(r.outcome, SLURM_REFUSED);
		free(r.block);
	}
	assert_not_executed();
}

static void test_array_records(void **state)
{
	_cleanup_free_ char *text = real_sh("sbatch --parsable -H -a 1-20%%2,30 --mem=10 -o /dev/null --wrap true"),
	                    *out = NULL;
	uint32_t id = (uint32_t)strtoul(text, NULL, 10), records = 0;
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB, .job_id = id));

	(void)state;
	assert_int_equal(r.jobs[0].array_job_id, id);
	assert_int_equal(r.jobs[0].array_task_id, UINT32_MAX);
	assert_int_equal(r.jobs[0].array_tasks, 21);
	free(r.block);
	out = real_sh("scontrol release %u_3", id); /* splits a task off */
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOBS));
	for (uint32_t i = 0; i < r.n; i++) {
		if (r.jobs[i].array_job_id != id)
			continue;
		records++;
		if (r.jobs[i].id == id) {
			assert_int_equal(r.jobs[i].array_tasks, 20);
		} else {
			assert_int_equal(r.jobs[i].array_task_id, 3);
			assert_int_equal(r.jobs[i].array_tasks, 1);
		}
	}
	assert_int_equal(records, 2);
	free(r.block);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB_STATES));
	records = 0;
	for (uint32_t i = 0; i < r.n; i++)
		records += r.states[i].array_job_id == id;
	assert_int_equal(records, 2);
	free(r.block);
	real_cancel(&real, id);
}

/* "Nodes=n1 CPU_IDs=0-3 Mem=400 GRES=gpu:h100:1(IDX:0)" for each node or range. */
static void test_what_a_job_has_on_each_node_is_exact(void **state)
{
	_cleanup_free_ char *text = NULL, *shown = NULL, *out = NULL;
	uint32_t id, cpus = 0, gpus = 0;
	const struct snode *node;
	struct slurm_result r, n;

	(void)state;
	/* seven CPUs with 100 MB each on two nodes: one gets more than the other */
	text = real_sh("sbatch --parsable -N2 -n7 -c1 --mem-per-cpu=100 --gres=gpu:1 -o /dev/null --wrap 'sleep 600'");
	id = (uint32_t)strtoul(text, NULL, 10);
	r = real_await(&real, id, JOB_RUNNING);
	shown = real_sh("scontrol -d -o show job %u", id);
	assert_int_equal(r.jobs[0].n_on_nodes, 2);
	assert_int_equal(r.jobs[0].cpus, 7);
	assert_int_equal(r.jobs[0].gpus, 2);
	assert_int_equal(r.jobs[0].memory_mb, 700);
	for (uint32_t i = 0; i < 2; i++) {
		const struct job_on_node *on = &r.jobs[0].on_nodes[i];
		_cleanup_free_ char *want = str_printf("Mem=%d", (int)on->memory_mb);

		assert_int_equal(on->memory_mb, on->cpus * 100);
		assert_int_equal(on->gpus, 1);
		assert_non_null(strstr(shown, want));
		cpus += on->cpus;
		gpus += on->gpus;
		node = listed_node(on->node, &n);
		assert_int_equal(node->cpus_alloc, on->cpus);
		assert_int_equal(node->memory_alloc_mb, on->memory_mb);
		free(n.block);
	}
	assert_int_equal(cpus, 7);
	assert_int_equal(gpus, 2);
	assert_int_not_equal(r.jobs[0].on_nodes[0].cpus, r.jobs[0].on_nodes[1].cpus);
	free(r.block);
	real_cancel(&real, id);
	r = real_await(&real, id, JOB_CANCELLED);
	free(r.block);
}

static void test_jobs_since_are_unchanged(void **state)
{
	struct slurm_result r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOBS, .detail = true));
	struct slurm_result later = real_call(&real, ASK(.verb = SLURM_LOAD_JOBS, .since = r.as_of + USEC_HOUR));

	(void)state;
	assert_true(r.n > 0);
	assert_int_equal(later.outcome, SLURM_UNCHANGED);
	assert_int_equal(later.n, 0);
	free(r.block);
	free(later.block);
}

static void test_the_same_jobs_again_are_told_in_one_word(void **state)
{
	const struct job_spec spec = { .name = "digest", .script = "#!/bin/sh\n", .hold = true, .memory_mb = 10 };
	struct slurm_result list = real_ok(&real, ASK(.verb = SLURM_LOAD_JOBS, .lean = true));
	struct slurm_result states = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB_STATES));
	struct slurm_result r, more;
	uint32_t id;

	(void)state;
	r = real_call(&real, ASK(.verb = SLURM_LOAD_JOBS, .lean = true, .digest = list.digest));
	assert_int_equal(r.outcome, SLURM_UNCHANGED);
	assert_int_equal(r.n, 0);
	free(r.block);
	r = real_call(&real, ASK(.verb = SLURM_LOAD_JOB_STATES, .digest = states.digest));
	assert_int_equal(r.outcome, SLURM_UNCHANGED);
	free(r.block);
	r = real_ok(&real, ASK(.verb = SLURM_SUBMIT, .spec = &spec));
	id = r.job_id;
	free(r.block);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOB_STATES, .digest = states.digest));
	assert_int_equal(r.n, states.n + 1);
	free(r.block);
	r = real_ok(&real, ASK(.verb = SLURM_LOAD_JOBS, .lean = true, .digest = list.digest));
	more = real_ok(&real, ASK(.verb = SLURM_LOAD_JOBS));
	assert_int_equal(r.n, more.n);
	for (uint32_t i = 0; i < r.n; i++) { /* all that the lean list has is as in the other */
		const struct job *a = &r.jobs[i], *b = &more.jobs[i];

		assert_true(a->id == b->id && a->state == b->state && a->flags == b->flags && a->uid == b->uid);
		assert_true(a->restarts == b->restarts && a->submitted == b->submitted);
		assert_true(str_eq(a->name, b->name) && str_eq(a->user, b->user) && str_eq(a->reason, b->reason));
		assert_true(str_eq(a->partition, b->partition) && str_eq(a->extra, b->extra));
		assert_true(str_eq(a->nodes, b->nodes) && str_eq(a->excluded, b->excluded));
		assert_true(str_eq(a->required, b->required) && a->preempted == b->preempted);
		assert_true(str_eq(a->admin_comment, b->admin_comment) && str_eq(a->qos, b->qos));
		assert_true(a->prolog_failed == b->prolog_failed);
	}
	free(r.block);
	free(more.block);
	free(list.block);
	free(states.block);
	real_cancel(&real, id);
}

/* ---- many at once */

struct crowd {
	int done, failed;
	uint32_t ids[200];
};

static void crowd_done(void *arg, struct slurm_result *r)
{
	struct crowd *c = arg;

	if (r->outcome == SLURM_OK && r->job_id)
		c->ids[c->done] = r->job_id;
	c->failed += r->outcome != SLURM_OK;
	c->done++;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void test_two_hundred_submits_at_once(void **state)
{
	struct job_spec spec = { .name = "crowd", .script = "#!/bin/sh\n", .hold = true, .memory_mb = 10 };
	struct crowd c = { 0 }, gone = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		real.port->ops->call(real.port, ASK(.verb = SLURM_SUBMIT, .spec = &spec), crowd_done, &c);
	REAL_WAIT(&real, 60, c.done == 200);
	assert_int_equal(c.failed, 0);
	qsort(c.ids, 200, sizeof(c.ids[0]), by_number);
	for (int i = 1; i < 200; i++)
		assert_true(c.ids[i - 1] < c.ids[i]);
	for (int i = 0; i < 200; i++)
		real.port->ops->call(real.port, ASK(.verb = SLURM_CANCEL, .job_id = c.ids[i]), crowd_done, &gone);
	REAL_WAIT(&real, 60, gone.done == 200);
	assert_int_equal(gone.failed, 0);
}

/* ---- hints and the net under them */

static void test_the_doorbell_rings_when_a_job_ends(void **state)
{
	struct job_spec spec = { .name = "bell",
		                 .script = "#!/bin/sh\nexec sleep 600\n",
		                 .memory_mb = 10,
		                 .std_out = "/dev/null",
		                 .bell_host = "127.0.0.1",
		                 .bell_port = slurm_bell_port(real.port) };
	struct slurm_result r;
	int before;
	uint32_t id;

	(void)state;
	/* running */
	id = real_submit(&real, &spec);
	r = real_await(&real, id, JOB_RUNNING);
	free(r.block);
	before = real.rings;
	real_cancel(&real, id);
	REAL_WAIT(&real, 30, real.rings > before);
	r = real_await(&real, id, JOB_CANCELLED);
	free(r.block);
	/* waiting */
	spec.hold = true;
	id = real_submit(&real, &spec);
	before = real.rings;
	real_cancel(&real, id);
	REAL_WAIT(&real, 30, real.rings > before);
	/* a ring says nothing: nobody's job changed, and the port goes on as before */
	before = real.rings;
	free(real_sh("python3 -c 'import socket; s=socket.create_connection((\"127.0.0.1\",%u)); "
	             "s.send(b\"x\"*100000)' || true",
	             slurm_bell_port(real.port)));
	REAL_WAIT(&real, 30, real.rings > before);
	real_expect(&real, ASK(.verb = SLURM_PING), SLURM_OK, 0);
}

struct seen {
	uint32_t id;
	bool first, was_new, ran, ended;
};

static void told(void *arg, const struct poll_event *events, size_t n, usec_t asked)
{
	struct seen *s = arg;

	assert_true(asked > 0);
	s->first = true;
	for (size_t i = 0; i < n; i++) {
		if (!s->id || events[i].now.id != s->id)
			continue;
		s->was_new |= events[i].what == POLL_NEW;
		s->ran |= events[i].now.state == JOB_RUNNING;
		s->ended |= events[i].now.state == JOB_COMPLETE;
	}
}

static void test_the_poll_sees_a_job_come_start_and_end(void **state)
{
	struct poll_options o = { .min = 20 * USEC_MSEC, .max = USEC_SEC };
	_cleanup_free_ char *wait = str_printf("GO=%s/go2", real_work()), *out = NULL;
	const char *const env[] = { "PATH=/usr/bin:/bin", wait };
	struct job_spec spec = { .name = "poll",
		                 .script = "#!/bin/sh\nwhile [ ! -e \"$GO\" ]; do sleep 0.1; done\n",
		                 .env = env,
		                 .n_env = 2,
		                 .memory_mb = 10,
		                 .std_out = "/dev/null" };
	struct seen s = { 0 };
	struct poll *p = poll_new(real.loop, real.port, &o, told, &s);

	(void)state;
	REAL_WAIT(&real, 30, s.first);
	s.id = real_submit(&real, &spec);
	REAL_WAIT(&real, 60, s.was_new && s.ran);
	assert_false(s.ended);
	out = real_sh("touch %s/go2", real_work());
	REAL_WAIT(&real, 60, s.ended);
	assert_true(poll_cost(p) > 0);
	poll_free(p);
}

/* ---- hostlists */

static void test_hostlists_agree_with_scontrol(void **state)
{
	static const char *const lists[] = { "n1",
		                             "n[1-4]",
		                             "n[1-4,07],login",
		                             "a[01-12]",
		                             "a[001-003,5]b[1-2]",
		                             "x1,x2,x10",
		                             "rack[1-2]node[08-11]",
		                             "a-b_c[9-11].d" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		_cleanup_free_ char *theirs = real_sh("scontrol show hostnames '%s'", lists[i]), *back = NULL;
		_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
		_cleanup_buf_ struct buf ours = BUF(65536), shorter = BUF(65536);

		assert_int_equal(hostlist_parse(&h, lists[i], NULL), 0);
		for (size_t k = 0; k < h.n; k++)
			buf_printf(&ours, "%s\n", h.names[k]);
		assert_string_equal(buf_text(&ours), theirs);
		/* and our short form means the same to Slurm */
		hostlist_format(&h, &shorter);
		back = real_sh("scontrol show hostnames '%s'", buf_text(&shorter));
		assert_string_equal(back, theirs);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_configuration_is_what_slurm_conf_says),
		TEST(partitions),
		TEST(statistics_agree_with_sdiag),
		TEST(nodes_come_with_everything),
		TEST(drain_and_undrain),
		TEST(a_person_wins_against_a_decision_from_older_news),
		TEST(extra_comment_and_features_of_a_node),
		TEST(down_and_resume),
		TEST(changes_of_nodes_that_make_no_sense_are_refused),
		TEST(a_dynamic_node_is_made_and_deleted),
		TEST(a_busy_dynamic_node_is_not_deleted_now_but_later),
		TEST(every_field_of_a_job_arrives),
		TEST(a_job_runs_with_what_it_asked_for_and_ends_with_its_code),
		TEST(a_signal_reaches_the_script),
		TEST(a_waiting_job_is_changed),
		TEST(what_slurm_refuses_is_told_in_its_own_words),
		TEST(strange_texts_come_back_unchanged_or_are_refused),
		TEST(array_records),
		TEST(what_a_job_has_on_each_node_is_exact),
		TEST(jobs_since_are_unchanged),
		TEST(the_same_jobs_again_are_told_in_one_word),
		TEST(two_hundred_submits_at_once),
		TEST(the_doorbell_rings_when_a_job_ends),
		TEST(the_poll_sees_a_job_come_start_and_end),
		TEST(hostlists_agree_with_scontrol),
	};
	int failed;

	if (argc < 2 || !str_eq(argv[1], "slurm-worker"))
		real_open(&real, NULL, false);
	failed = real_main(argc, argv, tests, ARRAY_LEN(tests));
	real_close(&real);
	return failed;
}
