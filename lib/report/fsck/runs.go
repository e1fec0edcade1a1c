package fsck

import (
	"fmt"
	"slices"

	"tri/lib/base/durable"
	"tri/lib/record/run"
)

// runs checks the published results of runs, their words and checkpoints.
func runs(h *durable.Home, f *Finding) error {
	ids, err := h.List("runs")
	if err != nil {
		return err
	}
	result, err := newChecker(h, "run")
	if err != nil {
		return err
	}
	defer result.close()
	checkpoint, err := newChecker(h, "checkpoint")
	if err != nil {
		return err
	}
	defer checkpoint.close()
	for _, id := range ids {
		result.file(f, "runs", id+"/result.json", id)
		if err := result.runSums(f, id); err != nil {
			return err
		}
		checkpoint.file(f, "runs", id+"/checkpoint.json", id+"/checkpoint.json")
		if err := words(h, id, f); err != nil {
			return err
		}
	}
	return nil
}

// words checks the words of a run, and what its files say became of them. heard.ndjson is read
// before words.ndjson: a word is in the second before it is in the first.
func words(h *durable.Home, id string, f *Finding) error {
	dir, was, torn := "runs/"+id, f.Bad, f.Torn
	if !h.Exists(dir+"/words.ndjson") && !h.Exists(dir+"/heard.ndjson") {
		return nil
	}
	res, _ := run.Load(h, id) // a broken result is reported above
	heard, heardErr := run.Hearing(h.Path(dir))
	told, toldErr := run.Words(h.Path(dir))
	for _, log := range []struct{ name, schema string }{{"heard.ndjson", "heard"}, {"words.ndjson", "word"}} {
		part := &Finding{}
		if err := piece(h, dir+"/"+log.name, log.schema, 0, -1, part, nil); err != nil {
			return err
		}
		f.Records, torn = f.Records+part.Records, max(torn, part.Torn)
		for _, p := range part.Problems {
			f.bad(id+"/"+log.name, fmt.Errorf("%s", p))
		}
	}
	f.Torn = torn
	if f.Bad > was {
		return nil
	}
	for _, err := range []error{heardErr, toldErr} {
		if err != nil {
			f.bad(id, err)
			return nil
		}
	}
	var ids []string
	for _, w := range told {
		if slices.Contains(ids, w.ID) {
			f.bad(id+"/words.ndjson", fmt.Errorf("word %s is there twice", w.ID))
		}
		ids = append(ids, w.ID)
	}
	for _, l := range heard {
		if !slices.Contains(ids, l.ID) {
			f.bad(id+"/heard.ndjson", fmt.Errorf("there is no word %s", l.ID))
		}
	}
	if res == nil {
		return nil
	}
	for _, w := range res.Heard {
		if !slices.Contains(run.Answered(heard), w) {
			f.bad(id, fmt.Errorf("it says that it answers word %s, and heard.ndjson does not", w))
		}
	}
	return nil
}
