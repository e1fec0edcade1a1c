package conversation

import "tri/lib/base/ndjson"

// spans are the places of a record that a thread changes.
type spans struct {
	thread   span // value of thread_id; empty if there is none
	inferred span // member left by an earlier run, with a comma; empty if none
	end      int  // end of the last member
}

type span struct{ from, to int }

func (s *spans) find(members []ndjson.Member) {
	*s = spans{}
	for i := range members {
		m := &members[i]
		s.end = m.End
		switch string(m.Key) {
		case "thread_id":
			s.thread = span{m.End - len(m.Value), m.End}
		case "thread_inferred":
			switch {
			case i > 0:
				s.inferred = span{members[i-1].End, m.End}
			case len(members) > 1:
				s.inferred = span{m.Start, members[1].Start}
			}
		}
	}
}

// splice appends the record with root as its thread and why. With an empty root the platform's own thread
// is unchanged.
func (s *spans) splice(dst, line []byte, root string, why string) []byte {
	again := s.inferred.to > 0
	if root == "" && !again {
		return append(dst, line...)
	}
	first, second := s.thread, s.inferred
	if second.from < first.from {
		first, second = second, first
	}
	at := 0
	for _, cut := range [...]span{first, second} {
		if cut.to == 0 {
			continue
		}
		dst = append(dst, line[at:cut.from]...)
		if cut == s.thread {
			dst = appendRoot(dst, root)
		}
		at = cut.to
	}
	dst = append(dst, line[min(at, s.end):s.end]...)
	if root != "" {
		if s.thread.to == 0 {
			dst = appendRoot(append(dst, `,"thread_id":`...), root)
		}
		dst = append(append(append(dst, `,"thread_inferred":"`...), why...), '"')
	}
	return append(dst, line[s.end:]...)
}

func appendRoot(dst []byte, root string) []byte {
	if root == "" {
		return append(dst, "null"...)
	}
	return ndjson.AppendString(dst, root)
}
