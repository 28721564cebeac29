/*
 * The stages of norm_job.h for a kernel's rows: included once by norm_narrow.h and once by norm_pairs.h, FAMILY being narrow or
 * pairs. A family has its FAMILY_row and FAMILY_sums, and says how a row begins (_begin), what the sums of a part are (_part) and
 * those of two parts (_merge), what follows from them (_settle: false where others are wanted first), and what a settled row
 * leaves beside its outputs (_note).
 */
#define STAGED_NAME(family, name) family##name
#define STAGED_PASTE(family, name) STAGED_NAME(family, name)
#define OF(name) STAGED_PASTE(FAMILY, name)

_Static_assert(sizeof(struct OF(_row)) <= NORM_JOB_KNOWN_BYTES && sizeof(struct OF(_sums)) <= NORM_JOB_SUMS_BYTES, "norm_job.h");

/* The first stage of a row; where only the sums of a part are wanted, they are put where norm_job.h says. */
INLINE void OF(_centred)(const struct FAMILY *a, struct OF(_row) *row, size_t index)
{
	size_t parts = norm_job_parts(a->n), first = a->part, end = a->stage == NORM_SUMS ? first + 1 : parts;

	while (!row->settled) {
		struct OF(_sums) all;

		for (size_t i = first; i < end; i++) {
			struct OF(_sums) part = OF(_part)(a, row, i);

			if (i == first)
				all = part;
			else
				OF(_merge)(&all, &part);
		}
		if (a->stage == NORM_SUMS) {
			((struct OF(_sums) *)a->job->sums)[index * parts + first] = all;
			return;
		}
		OF(_settle)(a, row, &all);
	}
}

/* A row whose outputs are next if it is good; one that has none here is marked. `group`: rows until the next that is begun. */
INLINE struct OF(_row) OF(_start)(const struct FAMILY *a, size_t index, size_t group, size_t end)
{
	struct OF(_row) row;

	if (a->stage == NORM_ROWS)
		row = OF(_begin)(a, index, group, end);
	else
		row = ((const struct OF(_row) *)a->job->known)[index];
	OF(_centred)(a, &row, index);
	if (a->stage == NORM_ROWS)
		OF(_note)(a, &row, index);
	if (a->stage == NORM_SUMS)
		row.good = false;
	return row;
}

/* NORM_SETTLE of one row, whose parts' sums are `sums` once it has begun; whether they are wanted. */
INLINE bool OF(_settle_parts)(const struct FAMILY *a, struct OF(_row) *row, const struct OF(_sums) *sums, size_t index)
{
	struct OF(_sums) all;

	if (row->settled)
		return false;
	if (!row->begun) {
		*row = OF(_begin)(a, index, 1, index);
		return true;
	}
	all = sums[0];
	for (size_t i = 1; i < norm_job_parts(a->n); i++)
		OF(_merge)(&all, &sums[i]);
	if (!OF(_settle)(a, row, &all))
		return true;
	OF(_note)(a, row, index);
	return false;
}

INLINE int OF(_settle_all)(const struct FAMILY *a, size_t first, size_t end)
{
	struct OF(_row) *rows = a->job->known;
	const struct OF(_sums) *sums = a->job->sums;
	bool wanted = false;

	for (size_t i = first; i < end; i++)
		wanted |= OF(_settle_parts)(a, &rows[i], &sums[i * norm_job_parts(a->n)], i);
	return wanted;
}

/* What a task other than NORM_SETTLE is about. */
INLINE void OF(_aim)(struct FAMILY *a, struct norm_task task)
{
	bool whole = task.stage == NORM_ROWS;

	a->stage = task.stage;
	a->part = whole ? 0 : task.part;
	a->from = a->part * NORM_JOB_PART;
	a->to = whole ? a->n : norm_job_part_end(a->n, a->part);
}

#undef OF
#undef STAGED_PASTE
#undef STAGED_NAME
