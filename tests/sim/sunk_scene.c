/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-scene: plays one scene on the Kubernetes of a kubeconfig, and prints what was seen, or compares it with what the file has.
 * record_kube.py starts the cluster, its kubelets (lite's agent) and this.
 */
#include "tests/sim/scene.h"

#include <signal.h>
#include <stdio.h>

#include "base/args.h"
#include "base/log.h"
#include "base/str.h"
#include "kube/kube.h"

#define ROUND (20 * USEC_MSEC)

struct stage {
	struct loop *loop;
	int64_t agent;
};

static usec_t stage_now(void *arg)
{
	(void)arg;
	return clock_mono(clock_real());
}

static bool stage_step(void *arg)
{
	loop_run_once(((struct stage *)arg)->loop, ROUND);
	return true;
}

static void stage_passes(void *arg, usec_t span)
{
	usec_t end = stage_now(arg) + span;

	while (stage_now(arg) < end)
		(void)stage_step(arg);
}

static void stage_kubelets(void *arg, bool work)
{
	const struct stage *s = arg;

	if (s->agent > 1)
		(void)kill((pid_t)s->agent, work ? SIGCONT : SIGSTOP);
}

static int play(struct stage *s, const char *kubeconfig, const char *ns, const char *path, bool compare)
{
	const struct kube_options o = { .config = { .path = kubeconfig },
		                        .controller = "sunk.coreweave.com/scene",
		                        .instance = "scene" };
	struct scene_stage stage = { .ns = ns,
		                     .arg = s,
		                     .patience = 150 * USEC_SEC,
		                     .now = stage_now,
		                     .step = stage_step,
		                     .passes = stage_passes,
		                     .kubelets = stage_kubelets };
	struct scene_result *r = NEW(struct scene_result);
	struct kube *kube = NULL;
	struct err err = { 0 };
	int exit_code = 0;

	s->loop = loop_new();
	if (kube_open(s->loop, clock_real(), &o, &kube, &err) < 0) {
		printf("%s\n", err_text(&err));
		exit_code = 2;
	} else {
		stage.port = kube_port(kube);
		if (!scene_play(&stage, path, r)) {
			printf("  %s\n", r->why);
			exit_code = 2;
		}
		for (size_t i = 0; i < r->seen.n && (!compare || exit_code); i++)
			printf("%s\n", r->seen.lines[i]);
		if (compare && !exit_code && !scene_compare(r, "this one"))
			exit_code = 1;
		stage_kubelets(s, true);
		kube_close(kube);
	}
	loop_free(s->loop);
	scene_done(r);
	free(r);
	return exit_code;
}

int main(int argc, char **argv)
{
	struct stage s = { 0 };
	char *kubeconfig = NULL, *ns = NULL;
	bool compare = false;
	struct arg args[] = {
		{ .flag = "kubeconfig", .type = ARG_STRING, .value = &kubeconfig, .help = "Whose Kubernetes." },
		{ .flag = "namespace", .type = ARG_STRING, .value = &ns, .help = "Of the scene's Pods." },
		{ .flag = "agent", .type = ARG_INT, .value = &s.agent, .help = "The pid of all kubelets." },
		{ .flag = "compare", .type = ARG_BOOL, .value = &compare, .help = "With what the file has." },
	};
	struct err err = { 0 };
	char **rest;
	int n, r;

	if (args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n, &err) < 0 || n != 1) {
		fprintf(stderr,
		        "usage: sunk-scene --kubeconfig FILE [--namespace NS] [--agent PID] [--compare] SCENE\n%s\n",
		        err_text(&err));
		return 2;
	}
	log_setup("scene", LOG_ERROR + 1, LOG_TEXT, 2);
	r = play(&s, kubeconfig, str_or(ns, "default"), rest[0], compare);
	args_done(args, ARRAY_LEN(args));
	return r;
}
