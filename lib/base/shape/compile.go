// Package shape checks NDJSON lines against the schemas without decoding them. It knows
// the keywords that our schemas use and refuses to compile any other; a test compares it
// with a complete validator.
package shape

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tri/lib/base/ndjson"
	"tri/schemas"
)

// Shape is a compiled schema, for one goroutine at a time.
type Shape struct {
	root   *node
	open   []ndjson.Member // of the objects that are being looked at, the innermost last
	common uint64          // props of the root that ask what those of the shape do from which it is derived
	compiler
}

// node is one schema. A nil list or pointer asks nothing.
type node struct {
	types    kind // any of these; 0: any
	enum     []string
	format   string
	pattern  func([]byte) bool
	minLen   int // characters
	maxLen   int // -1: none
	min, max *float64

	props    []prop
	first    int // the place of what came first when an object was seen last
	byName   map[string]int
	required []int  // of props
	need     uint64 // the same, a bit each
	items    *node
	minItems int
	maxItems int // -1: none

	all        []*node
	any        []*node
	cond, then *node
	when       *when // cond, where it is no more than this
}

// when is the condition that a member, if it is there, is one of some words.
type when struct {
	name  string
	words []string
}

// prop is a member that a schema knows; its node is nil where only its being
// there is asked for.
type prop struct {
	name string
	node *node
	next int // the place of what came behind it when it was seen last
}

// kind is a set of JSON types.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	number
	integer
	text
	list
	object
)

var kinds = map[string]kind{"null": null, "boolean": boolean, "number": number | integer, "integer": integer, "string": text, "array": list, "object": object}

// compiler resolves references between schemas.
type compiler struct {
	nodes  map[string]*node // by reference
	simple map[*node]bool   // those that were simplified
}

// Load compiles the schema of a record by its name, as "event".
func Load(name string) (*Shape, error) {
	return compiler{map[string]*node{}, map[*node]bool{}}.load(name)
}

func (c compiler) load(name string) (*Shape, error) {
	n, err := c.ref("tri:"+name, "")
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	simplify(&n, c.simple)
	return &Shape{root: n, compiler: c}, nil
}

// Derive compiles the schema of a record that has the members of another, as a
// classified event has those of an event. The two are for the same goroutine.
func (s *Shape) Derive(name string) (*Shape, error) {
	d, err := s.load(name)
	if err != nil {
		return nil, err
	}
	for i, p := range d.root.props {
		if at, known := s.root.byName[p.name]; known && s.root.props[at].node == p.node {
			d.common |= 1 << i
		}
	}
	return d, nil
}

// maxProps is how many members of a schema Check can tell apart.
const maxProps = 64

// docs are the schemas that were read, which never change.
var docs sync.Map

func (c compiler) doc(name string) (map[string]any, error) {
	if d, ok := docs.Load(name); ok {
		return d.(map[string]any), nil
	}
	b, err := schemas.Read(strings.TrimPrefix(name, "tri:"))
	if err != nil {
		return nil, err
	}
	d := map[string]any{}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, err
	}
	docs.Store(name, d)
	return d, nil
}

// ref compiles what a reference names, once.
func (c compiler) ref(ref, base string) (*node, error) {
	name, path, _ := strings.Cut(ref, "#")
	if name == "" {
		name = base
	}
	if n := c.nodes[name+"#"+path]; n != nil {
		return n, nil
	}
	doc, err := c.doc(name)
	if err != nil {
		return nil, err
	}
	at := doc
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if step == "" {
			continue
		}
		next, ok := at[step].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s leads nowhere", ref)
		}
		at = next
	}
	n := &node{maxLen: -1, maxItems: -1}
	c.nodes[name+"#"+path] = n
	return n, c.fill(n, at, name)
}

func (c compiler) node(v any, base string) (*node, error) {
	s, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no schema", v)
	}
	n := &node{maxLen: -1, maxItems: -1}
	return n, c.fill(n, s, base)
}

// silent are keywords that ask nothing of a record.
var silent = strings.Fields("$schema $id $defs title description readOnly then")

func (c compiler) fill(n *node, s map[string]any, base string) (err error) {
	for key, v := range s {
		switch key {
		case "type":
			err = n.setTypes(v)
		case "enum":
			err = n.setEnum(v)
		case "const":
			err = n.setEnum([]any{v})
		case "format":
			n.format, _ = v.(string)
			if n.format != "date-time" && n.format != "date" {
				err = fmt.Errorf("format %q is not known", n.format)
			}
		case "pattern":
			text, _ := v.(string)
			n.pattern, err = pattern(text)
		case "minLength":
			n.minLen = whole(v)
		case "maxLength":
			n.maxLen = whole(v)
		case "minItems":
			n.minItems = whole(v)
		case "maxItems":
			n.maxItems = whole(v)
		case "minimum":
			n.min = limit(v)
		case "maximum":
			n.max = limit(v)
		case "properties", "required", "items", "allOf", "anyOf", "if", "$ref":
			err = c.nested(n, key, v, s, base)
		default:
			if !slices.Contains(silent, key) {
				err = fmt.Errorf("keyword %q is not known", key)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nested compiles the keywords that hold schemas or name members.
func (c compiler) nested(n *node, key string, v any, s map[string]any, base string) (err error) {
	switch key {
	case "properties":
		for name, sub := range v.(map[string]any) {
			p := n.prop(name)
			if n.props[p].node, err = c.node(sub, base); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if len(n.props) > maxProps {
			return fmt.Errorf("more than %d members", maxProps)
		}
	case "required":
		for _, name := range v.([]any) {
			n.required = append(n.required, n.prop(name.(string)))
		}
		if len(n.props) > maxProps {
			return fmt.Errorf("more than %d members", maxProps)
		}
	case "items":
		n.items, err = c.node(v, base)
	case "allOf", "anyOf":
		for _, sub := range v.([]any) {
			part, err := c.node(sub, base)
			if err != nil {
				return err
			}
			if key == "allOf" {
				n.all = append(n.all, part)
			} else {
				n.any = append(n.any, part)
			}
		}
	case "if":
		if n.cond, err = c.node(v, base); err == nil {
			n.then, err = c.node(s["then"], base)
		}
	case "$ref":
		target, err := c.ref(v.(string), base)
		n.all = append(n.all, target)
		return err
	}
	return err
}

// prop is the place of a member among those that the schema knows.
func (n *node) prop(name string) int {
	if i, ok := n.byName[name]; ok {
		return i
	}
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	n.byName[name] = len(n.props)
	n.props = append(n.props, prop{name: name})
	return len(n.props) - 1
}

func (n *node) setTypes(v any) error {
	names, ok := v.([]any)
	if !ok {
		names = []any{v}
	}
	for _, name := range names {
		k, ok := kinds[fmt.Sprint(name)]
		if !ok {
			return fmt.Errorf("type %v is not known", name)
		}
		n.types |= k
	}
	return nil
}

// setEnum keeps the texts as they stand in a line of ours.
func (n *node) setEnum(v any) error {
	for _, x := range v.([]any) {
		b, err := json.Marshal(x)
		if err != nil {
			return err
		}
		n.enum = append(n.enum, string(b))
	}
	return nil
}

func whole(v any) int {
	f, _ := v.(float64)
	return int(f)
}

func limit(v any) *float64 {
	f, _ := v.(float64)
	return &f
}
