package degrade

import (
	"errors"

	"github.com/go-resty/resty/v2"

	"herald/platforms"
)

// message is one turn of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// shape is how a service is asked. Services differ in what they take; what one
// refuses is left out from then on.
type shape struct {
	mode        JSONMode
	free        bool   // mode may be changed
	tokens      string // name of the bound; empty sends none
	temperature bool
	chars       int // longest part
}

// without returns the next simpler shape after a service has refused a request
// of this one. Its answer names the field; without a name the format of the
// answer is the likeliest, since services differ most in that.
func (s shape) without(err error) (shape, bool) {
	refused, ok := errors.AsType[*refused](err)
	if !ok || refused.cause.Kind != platforms.Invalid {
		return s, false
	}
	switch {
	case refused.param == "temperature" && s.temperature:
		s.temperature = false
	case refused.param == "max_tokens" && s.tokens == "max_tokens":
		s.tokens = "max_completion_tokens"
	case refused.param == "max_completion_tokens" && s.tokens != "":
		s.tokens = ""
	case s.free && s.mode == JSONSchema:
		s.mode = JSONObject
	case s.free && s.mode == JSONObject:
		s.mode = JSONOff
	default:
		return s, false
	}
	return s, true
}

// body is the request for an answer to messages.
func (p *provider) body(s shape, messages []message) map[string]any {
	body := map[string]any{"model": p.Model, "messages": messages, "stream": false}
	if s.temperature {
		body["temperature"] = 0
	}
	if s.tokens != "" {
		body[s.tokens] = p.MaxTokens
	}
	switch s.mode {
	case JSONSchema:
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": answerSchema}
	case JSONObject:
		body["response_format"] = map[string]any{"type": "json_object"}
	}
	for key, value := range p.Extra {
		if body[key] = value; value == nil {
			delete(body, key)
		}
	}
	return body
}

// request fills in a call.
func (p *provider) request(body map[string]any) func(*resty.Request) {
	return func(r *resty.Request) {
		r.SetBody(body)
		if key := p.APIKey.Reveal(); key != "" {
			r.SetAuthToken(key)
		}
		for name, value := range p.Headers {
			r.SetHeader(name, value.Reveal())
		}
	}
}

// answerSchema is what a service must answer. Strict schemas want every field
// required; the reader wants no more than the score.
var answerSchema = map[string]any{
	"name":   "verdict",
	"strict": true,
	"schema": object(map[string]any{
		"score":   map[string]any{"type": "number", "description": "from 0 to 1"},
		"pass":    map[string]any{"type": "boolean"},
		"details": aText,
		"issues":  map[string]any{"type": "array", "items": object(map[string]any{"passage": aText, "problem": aText, "suggestion": aText}, "passage", "problem", "suggestion")},
	}, "score", "pass", "details", "issues"),
}

var aText = map[string]any{"type": "string"}

func object(properties map[string]any, required ...string) map[string]any {
	return map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}
