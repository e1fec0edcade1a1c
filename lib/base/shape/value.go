package shape

import "tri/lib/base/ndjson"

// skip is behind the white space at b[i].
func skip(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// valueEnd is where the value ends that begins at b[i].
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		end, _ := ndjson.StringEnd(b, i)
		return end
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i, _ = ndjson.StringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == ',' || c == '}' || c == ']' || c <= ' ' {
			break
		}
	}
	return i
}
