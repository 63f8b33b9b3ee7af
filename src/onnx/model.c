/* model.c - from file to parsed model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "onnx/read.h"

static const char *text(const char *s)
{
	return s ? s : "";
}

bool bpg_onnx_is_default(const char *domain)
{
	return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

int bpg_onnx_opset(const struct bpg_onnx_model *m, const char *domain)
{
	if (bpg_onnx_is_default(domain))
		return m->opset;
	for (size_t i = 0; i < m->proto->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *o = m->proto->opset_import[i];
		if (!strcmp(text(o->domain), domain))
			return o->version > 0 && o->version < INT32_MAX ? (int)o->version : 1;
	}
	return 1;
}

/* Operators of the default domain follow one version, which must be known also where layers from outside add others. */
static enum bpg_status check_opset(struct bpg_onnx_model *m)
{
	int64_t version = 0;
	for (size_t i = 0; i < m->proto->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *o = m->proto->opset_import[i];
		if (bpg_onnx_is_default(o->domain))
			version = o->version;
	}
	if (!version)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: says no operator set version (opset_import); export the model again",
		                m->path);
	if (version < BPG_OPSET_FIRST || version > BPG_OPSET_LAST)
		return bpg_fail(m->ctx, BPG_EUNSUPPORTED,
		                "%s: operator set %lld, supported are %d to %d; convert or export the model again",
		                m->path, (long long)version, BPG_OPSET_FIRST, BPG_OPSET_LAST);
	m->opset = (int)version;
	return BPG_OK;
}

static enum bpg_status unpack(struct bpg_onnx_model *m)
{
	uint8_t *rest = NULL;
	int64_t n = 0;
	BPG_TRY(bpg_onnx_scan(m->ctx, m->path, m->map, m->size, &rest, &n));
	m->proto = onnx__model_proto__unpack(NULL, (size_t)n, rest);
	free(rest);
	if (!m->proto)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: not an ONNX model, or damaged", m->path);
	if (!m->proto->graph)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: holds no graph; not an ONNX model, or damaged", m->path);
	return BPG_OK;
}

enum bpg_status bpg_onnx_begin(struct bpg_onnx_model *m, struct bpg_build *b)
{
	BPG_TRY(bpg_build_start(b, m->ctx, m->path));
	m->arena = b->net->arena;
	b->net->file = m->files = bpg_onnx_files_new();
	b->net->close = bpg_onnx_files_close;
	if (!m->files)
		return bpg_nomem(m->ctx, m->path);
	return bpg_onnx_open(m->ctx, m->path, m->files);
}

enum bpg_status bpg_onnx_parse(struct bpg_onnx_model *m)
{
	const struct bpg_onnx_fd *file = &m->files->file[0];
	m->size = file->size;
	void *map = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (map == MAP_FAILED)
		return bpg_fail(m->ctx, BPG_EFILE, "%s: cannot be mapped: %s", m->path, strerror(errno));
	m->map = map;
	BPG_TRY(unpack(m));
	return check_opset(m);
}

void bpg_onnx_parse_end(struct bpg_onnx_model *m)
{
	if (m->proto)
		onnx__model_proto__free_unpacked(m->proto, NULL);
	if (m->map)
		munmap((void *)m->map, (size_t)m->size);
	m->proto = NULL;
	m->map = NULL;
}
