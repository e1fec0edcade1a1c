package persona

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// aliases are the names that other programs give to our fields: those of a database's columns, and those of
// its objects.
var aliases = map[string]string{
	"avatarUrl": "avatar_url", "isActive": "is_active", "createdAt": "created_at", "updatedAt": "updated_at",
	"soul_json": "soul", "style_json": "style", "skill_json": "skill", "model_config_json": "model_config",
	"modelConfig":          "model_config",
	"systemPromptOverride": "system_prompt_override", "provider": "api", "envVars": "env",
	"baseUrl": "base_url",
}

// Import reads a persona that another program exported: an object, or a row whose layers are text. A field
// that we do not have is kept in Unused, unless its name is close to a known one. The persona is inactive; id
// makes an id where there is none.
func Import(b []byte, id func() string, now time.Time) (*Persona, error) {
	var all map[string]any
	if len(b) > MaxFile {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("import persona: over %d bytes", MaxFile))
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("import persona: %w", err))
	}
	all = renamed(all)
	for _, layer := range []string{"soul", "style", "skill", "model_config"} {
		if s, ok := all[layer].(string); ok {
			var inner any
			if err := json.Unmarshal([]byte(s), &inner); err != nil {
				return nil, sysexit.With(sysexit.Data, fmt.Errorf("import persona: %s: %w", layer, err))
			}
			all[layer] = inner
		}
	}
	if m, ok := all["model_config"].(map[string]any); ok {
		all["model_config"] = renamed(m)
	}
	if s, ok := all["system_prompt_override"].(string); ok && strings.TrimSpace(s) == "" {
		all["system_prompt_override"] = nil
	}
	all["is_active"] = false
	if s, _ := all["id"].(string); !isID.MatchString(s) {
		all["id"] = id()
	}
	for _, at := range []string{"created_at", "updated_at"} {
		all[at] = text.Timestamp(now)
	}
	setAside(all)
	plain, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("import persona: %w", err)
	}
	p, err := Parse(plain)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	p.fill()
	return p, nil
}

// setAside moves what another program has and we have not, such as replies to each other, to unused. Of a
// model's configuration it moves nothing: a key could be in it.
func setAside(all map[string]any) {
	unused, _ := all["unused"].(map[string]any)
	if unused == nil {
		unused = map[string]any{}
	}
	unknown(all, reflect.TypeFor[Persona](), "", func(in map[string]any, key, path, near string) {
		if near == "" && !strings.HasPrefix(path, "model_config.") {
			unused[path] = in[key]
			delete(in, key)
		}
	})
	if len(unused) > 0 {
		all["unused"] = unused
	}
}

func renamed(all map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range all {
		if ours, ok := aliases[key]; ok {
			key = ours
		}
		out[key] = v
	}
	return out
}
