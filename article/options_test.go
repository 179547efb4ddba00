package article

import "testing"

func TestOptionsAreDecodedStrictly(t *testing.T) {
	type options struct {
		Mode    string `mapstructure:"visibility"`
		Picture *bool  `mapstructure:"picture"`
	}
	tests := []struct {
		name    string
		options map[string]any
		want    string // the error
	}{
		{"none", nil, ""},
		{"known ones", map[string]any{"visibility": "x", "picture": false}, ""},
		{"a misspelt one", map[string]any{"visibilty": "x"}, `unknown key "visibilty"; did you mean "visibility"?`},
		{"a strange one", map[string]any{"zoom": 1}, `unknown key "zoom"; there are visibility, picture`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var into options
			got := ""
			if err := (&Article{Options: tt.options}).DecodeOptions(&into); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
			if tt.options["picture"] == false && (into.Mode != "x" || into.Picture == nil || *into.Picture) {
				t.Errorf("decoded %+v", into)
			}
		})
	}
	if err := (&Article{Options: map[string]any{"picture": "maybe"}}).DecodeOptions(new(options)); err == nil {
		t.Error("a value of the wrong type was taken")
	}
}
