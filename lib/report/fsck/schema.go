package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"tri/schemas"
)

// schema is a compiled JSON Schema. It is safe for concurrent use.
type schema struct{ compiled *jsonschema.Schema }

// compiler contains all schemas of this project and loads no others.
var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	for _, name := range schemas.Names() {
		text, err := schemas.Read(name)
		if err != nil {
			return nil, fmt.Errorf("read schema %s: %w", name, err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = c.AddResource("tri:"+name, doc)
		}
		if err != nil {
			return nil, fmt.Errorf("read schema %s: %w", name, err)
		}
	}
	return c, nil
})

// compiling guards the compiler, which is not safe for concurrent use.
var compiling sync.Mutex

// loadSchema returns the schema of a kind of record, for example "event".
func loadSchema(name string) (schema, error) {
	c, err := compiler()
	if err != nil {
		return schema{}, err
	}
	compiling.Lock()
	defer compiling.Unlock()
	s, err := c.Compile("tri:" + name)
	return schema{s}, err
}

// check returns the first fault of a JSON value, with the path of the member.
func (s schema) check(record []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(record))
	if err != nil {
		return err
	}
	err = s.compiled.Validate(v)
	fault := new(jsonschema.ValidationError)
	if !errors.As(err, &fault) {
		return err
	}
	for len(fault.Causes) > 0 {
		fault = fault.Causes[0]
	}
	cause := fault.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if len(fault.InstanceLocation) > 0 {
		return fmt.Errorf("%s: %s", strings.Join(fault.InstanceLocation, "."), cause)
	}
	return errors.New(cause)
}
