/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/table.h"

#include "lite/table_cells.h"
#include "lite/test_samples.h"

static const char now_text[] = "2026-11-15T18:20:00Z";

static char *row(const char *group, const char *plural, yyjson_val *object)
{
	_cleanup_buf_ struct buf out = BUF(1u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	usec_t now;

	assert_int_equal(time_parse_rfc3339(now_text, strlen(now_text), &now), 0);
	table_add_row(kind_builtin(group, plural), object, TABLE_NONE, now, &out);
	doc = obj_parse(buf_text(&out));
	if (!doc)
		fail_msg("no JSON: %s", buf_text(&out));
	return obj_text(obj_at(yyjson_mut_doc_get_root(doc), "cells"), NULL);
}

static void check(const char *group, const char *plural, const char *object, const char *cells)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(object), *should = quoted(cells);
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	_cleanup_free_ char *is = row(group, plural, yyjson_doc_get_root(read)),
	                    *expected = obj_text(yyjson_mut_doc_get_root(should), NULL);

	assert_string_equal(is, expected);
}

static void test_ages_are_short(void **state)
{
	static const struct {
		long long seconds;
		const char *text;
	} rows[] = {
		{ -5, "<invalid>" },
		{ -1, "0s" },
		{ 0, "0s" },
		{ 119, "119s" },
		{ 120, "2m" },
		{ 125, "2m5s" },
		{ 599, "9m59s" },
		{ 600, "10m" },
		{ 179 * 60 + 59, "179m" },
		{ 3 * 3600, "3h" },
		{ 3 * 3600 + 60, "3h1m" },
		{ 8 * 3600 + 60, "8h" },
		{ 48 * 3600, "2d" },
		{ 49 * 3600, "2d1h" },
		{ 8 * 86400 + 3600, "8d" },
		{ 365LL * 86400, "365d" },
		{ 730LL * 86400, "2y" },
		{ 731LL * 86400, "2y1d" },
		{ 3000LL * 86400, "8y" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(table_duration(rows[i].seconds * USEC_SEC, text), rows[i].text);
}

#define META "'metadata':{'name':'x','creationTimestamp':'2026-11-15T18:15:55Z'}"

static void test_cells_of_each_kind(void **state)
{
	static const char *const rows[][4] = {
		{ "", "namespaces", "{" META ",'status':{'phase':'Active'}}", "['x','Active','4m5s']" },
		{ "", "configmaps", "{" META ",'data':{'a':'1','b':'2'},'binaryData':{'c':''}}", "['x',3,'4m5s']" },
		{ "", "secrets", "{" META ",'type':'Opaque','data':{'a':''}}", "['x','Opaque',1,'4m5s']" },
		{ "", "serviceaccounts", "{" META "}", "['x','4m5s']" },
		{ "", "nodes",
		  "{'metadata':{'name':'n','labels':{'node-role.kubernetes.io/worker':'','node-role.kubernetes.io/"
		  "gpu':''}},'spec':{"
		  "'unschedulable':true},'status':{'conditions':[{'type':'Ready','status':'True'}],'addresses':[{'type'"
		  ":'InternalIP',"
		  "'address':'10.0.0.1'}],'nodeInfo':{'kubeletVersion':'v1','osImage':'Debian','kernelVersion':'6','"
		  "architecture':'amd64'}}}",
		  "['n','Ready,SchedulingDisabled','gpu,worker','<unknown>','v1','10.0.0.1','<none>','Debian','6 "
		  "(amd64)','<unknown>']" },
		{ "", "nodes", "{" META ",'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
		  "['x','NotReady','<none>','4m5s','','<none>','<none>','<unknown>','<unknown>','<unknown>']" },
		{ "apps", "deployments",
		  "{" META ",'spec':{'replicas':3,'selector':{'matchLabels':{'a':'b'}},'template':{'spec':{'containers'"
		  ":[{'name':'c','image':'i'},"
		  "{'name':'d','image':'j'}]}}},'status':{'readyReplicas':1,'updatedReplicas':2,'availableReplicas':1}"
		  "}",
		  "['x','1/3',2,1,'4m5s','c,d','i,j','a=b']" },
		{ "apps", "replicasets",
		  "{" META ",'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}}},'status':{'replicas':1}}",
		  "['x',2,1,0,'4m5s','','','a=b']" },
		{ "apps", "daemonsets",
		  "{" META ",'spec':{'template':{'spec':{'nodeSelector':{'k':'v','a':'b'}}},'selector':{}},'status':{'"
		  "desiredNumberScheduled':3,"
		  "'currentNumberScheduled':2,'numberReady':1}}",
		  "['x',3,2,1,0,0,'a=b,k=v','4m5s','','','<none>']" },
		{ "apps", "statefulsets", "{" META ",'spec':{'replicas':2}}", "['x','0/2','4m5s','','']" },
		{ "batch", "jobs",
		  "{" META ",'spec':{'completions':2,'parallelism':1},'status':{'succeeded':2,'startTime':'2026-11-"
		  "15T18:15:55Z','completionTime':"
		  "'2026-11-15T18:16:00Z','conditions':[{'type':'Complete','status':'True'}]}}",
		  "['x','Complete','2/2','5s','4m5s','','','<none>']" },
		{ "batch", "jobs", "{" META ",'spec':{'parallelism':3},'status':{'startTime':'2026-11-15T18:19:30Z'}}",
		  "['x','Running','0/1 of 3','30s','4m5s','','','<none>']" },
		{ "policy", "poddisruptionbudgets",
		  "{" META ",'spec':{'minAvailable':1},'status':{'disruptionsAllowed':2}}",
		  "['x','1','N/A',2,'4m5s']" },
		{ "policy", "poddisruptionbudgets", "{" META ",'spec':{'maxUnavailable':'50%'}}",
		  "['x','N/A','50%',0,'4m5s']" },
		{ "coordination.k8s.io", "leases", "{" META ",'spec':{'holderIdentity':'me'}}", "['x','me','4m5s']" },
		{ "", "services",
		  "{" META
		  ",'spec':{'type':'ClusterIP','clusterIP':'None','ports':[{'port':80,'protocol':'TCP'},{'port':1,"
		  "'nodePort':2,'protocol':'UDP'}],'selector':{'a':'b'}}}",
		  "['x','ClusterIP','None','<none>','80/TCP,1:2/UDP','4m5s','a=b']" },
		{ "", "events",
		  "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','name':'p'},'reason':'R','message':' "
		  "text\\n','type':'Normal','source':{"
		  "'component':'c','host':'h'},'firstTimestamp':'2026-11-15T18:19:00Z','lastTimestamp':'2026-11-15T18:"
		  "19:50Z','count':4}",
		  "['10s','Normal','R','pod/p','','c, h','text','60s',4,'e']" },
		{ "events.k8s.io", "events",
		  "{'metadata':{'name':'e'},'regarding':{'kind':'Node'},'reason':'R','note':'n','type':'Warning','"
		  "eventTime':"
		  "'2026-11-15T18:19:00.000000Z','reportingController':'rc','deprecatedFirstTimestamp':null}",
		  "['60s','Warning','R','node','','rc','n','60s',1,'e']" },
		{ "rbac.authorization.k8s.io", "roles", "{" META "}", "['x','2026-11-15T18:15:55Z']" },
		{ "apiextensions.k8s.io", "customresourcedefinitions", "{" META "}", "['x','2026-11-15T18:15:55Z']" },
		{ "rbac.authorization.k8s.io", "rolebindings", "{" META ",'roleRef':{'kind':'Role','name':'r'}}",
		  "['x','Role/r','4m5s']" },
		{ "", "persistentvolumeclaims",
		  "{" META ",'spec':{'storageClassName':'s'},'status':{'phase':'Pending'}}",
		  "['x','Pending','','','','s','<unset>','4m5s','']" },
		{ "", "persistentvolumeclaims",
		  "{" META
		  ",'spec':{'storageClassName':'s','volumeName':'v','volumeMode':'Filesystem'},'status':{'phase':"
		  "'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteMany','ReadWriteOnce']}}",
		  "['x','Bound','v','1Gi','RWO,RWX','s','<unset>','4m5s','Filesystem']" },
		{ "", "persistentvolumes",
		  "{" META
		  ",'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'claimRef':{'namespace':"
		  "'n','name':'c'},'persistentVolumeReclaimPolicy':'Delete','storageClassName':'s'},'status':{'phase':"
		  "'Bound'}}",
		  "['x','1Gi','RWO','Delete','Bound','n/c','s','<unset>','','4m5s','']" },
		{ "storage.k8s.io", "storageclasses",
		  "{'metadata':{'name':'x','creationTimestamp':'2026-11-15T18:15:55Z','annotations':{'storageclass."
		  "kubernetes.io/is-default-class':'true'}},'provisioner':'p','reclaimPolicy':'Delete',"
		  "'volumeBindingMode':'Immediate'}",
		  "['x (default)','p','Delete','Immediate',false,'4m5s']" },
		{ "scheduling.k8s.io", "priorityclasses", "{" META ",'value':5,'preemptionPolicy':'Never'}",
		  "['x',5,false,'4m5s','Never']" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
}

#define POD(spec, status) "{" META ",'spec':{'nodeName':'n'," spec "},'status':{" status "}}"
#define ONE "'containers':[{'name':'c'}]"

static void test_pods_show_what_their_containers_do(void **state)
{
	static const char *const rows[][2] = {
		{ POD(ONE, "'phase':'Pending'"), "['x','0/1','Pending','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'"
		           "SchedulingGated'}]"),
		  "['x','0/1','SchedulingGated','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Pending','containerStatuses':[{'name':'c','state':{'waiting':{'reason':'"
		           "ContainerCreating'}}}]"),
		  "['x','0/1','ContainerCreating','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Running','podIPs':[{'ip':'10.1.1.1'}],'containerStatuses':[{'name':'c','ready':"
		           "true,'restartCount':2,'state':{"
		           "'running':{}},'lastState':{'terminated':{'finishedAt':'2026-11-15T18:19:00Z'}}}]"),
		  "['x','1/1','Running','2 (60s ago)','4m5s','10.1.1.1','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Succeeded','containerStatuses':[{'name':'c','state':{'terminated':{'exitCode':0,'"
		           "reason':'Completed'}}}]"),
		  "['x','0/1','Completed','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Failed','containerStatuses':[{'name':'c','state':{'terminated':{'exitCode':3}}}]"),
		  "['x','0/1','ExitCode:3','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD(ONE, "'phase':'Failed','reason':'Evicted'"),
		  "['x','0/1','Evicted','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD("'initContainers':[{'name':'i'},{'name':'j'}]," ONE,
		      "'phase':'Pending','initContainerStatuses':[{'name':'i','state':{'terminated':{'exitCode':0}}},{'"
		      "name':'j','state':{'running':{}}}]"),
		  "['x','0/1','Init:1/2','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD("'initContainers':[{'name':'i'}]," ONE,
		      "'phase':'Pending','initContainerStatuses':[{'name':'i','restartCount':1,'state':{'waiting':{'"
		      "reason':'CrashLoopBackOff'}}}]"),
		  "['x','0/1','Init:CrashLoopBackOff','1','4m5s','<none>','n','<none>','<none>']" },
		{ POD("'initContainers':[{'name':'s','restartPolicy':'Always'}]," ONE,
		      "'phase':'Running','initContainerStatuses':[{'name':'s','started':true,'ready':true,'state':{'"
		      "running':{}}}],"
		      "'containerStatuses':[{'name':'c','ready':true,'state':{'running':{}}}]"),
		  "['x','2/2','Running','0','4m5s','<none>','n','<none>','<none>']" },
		{ POD("'containers':[{'name':'c'},{'name':'d'}],'readinessGates':[{'conditionType':'g'}]",
		      "'phase':'Running','conditions':[{'type':'Ready','status':'True'},{'type':'g','status':'True'}],'"
		      "containerStatuses':[{'name':"
		      "'c','state':{'terminated':{'exitCode':0,'reason':'Completed'}}},{'name':'d','ready':true,'state'"
		      ":{'running':{}}}]"),
		  "['x','1/2','Running','0','4m5s','<none>','n','<none>','1/1']" },
		{ "{'metadata':{'name':'x','deletionTimestamp':'2026-11-15T18:19:00Z'},'spec':{},'status':{'phase':'"
		  "Running'}}",
		  "['x','0/0','Terminating','0','<unknown>','<none>','<none>','<none>','<none>']" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check("", "pods", rows[i][0], rows[i][1]);
}

static void test_columns_and_cells_agree(void **state)
{
	_cleanup_doc_ yyjson_doc *empty = yyjson_read("{}", 2, 0);
	struct kinds set;

	(void)state;
	kinds_init(&set);
	for (size_t i = 0; i < set.n; i++) {
		_cleanup_buf_ struct buf columns = BUF(1u << 20), cells = BUF(1u << 20);
		_cleanup_mut_doc_ yyjson_mut_doc *a = NULL, *b = NULL;

		table_add_columns(set.list[i], &columns);
		table_add_row(set.list[i], yyjson_doc_get_root(empty), TABLE_METADATA, 0, &cells);
		a = obj_parse(buf_text(&columns));
		b = obj_parse(buf_text(&cells));
		assert_non_null(a);
		assert_non_null(b);
		assert_int_equal(obj_size(yyjson_mut_doc_get_root(a)),
		                 obj_size(obj_at(yyjson_mut_doc_get_root(b), "cells")));
		assert_json_is(obj_at(yyjson_mut_doc_get_root(b), "object"),
		               "{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1','metadata':{}}");
	}
	kinds_done(&set);
}

static void test_a_finished_pod_has_its_condition(void **state)
{
	_cleanup_buf_ struct buf out = BUF(1u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *pod = quoted("{'metadata':{'name':'x'},'status':{'phase':'Succeeded'}}"),
	                                 *is = NULL;
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(pod, NULL);

	(void)state;
	table_add_row(kind_builtin("", "pods"), yyjson_doc_get_root(read), TABLE_OBJECT, 0, &out);
	is = obj_parse(buf_text(&out));
	assert_json_is(obj_at(yyjson_mut_doc_get_root(is), "conditions"),
	               "[{'type':'Completed','status':'True','reason':'Succeeded','message':'The pod has completed "
	               "successfully.'}]");
	assert_json(obj_at(yyjson_mut_doc_get_root(is), "object"), yyjson_mut_doc_get_root(pod));
}

TEST_MAIN(TEST(ages_are_short), TEST(cells_of_each_kind), TEST(pods_show_what_their_containers_do),
          TEST(columns_and_cells_agree), TEST(a_finished_pod_has_its_condition))
