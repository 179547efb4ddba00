package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"herald/platforms"
)

// credentials is how a secret's path names the folder that systemd's
// LoadCredential= fills.
const credentials = "${CREDENTIALS_DIRECTORY}/"

// maxSecret is the size in bytes of the largest file that can hold a secret;
// the longest are private keys.
const maxSecret = 64 << 10

// secrets gives every secret in m, which stands at path and is decoded into typ,
// the type that prints as redacted, and replaces every key_file by key with the
// file's trimmed content.
func (l *loader) secrets(path string, typ reflect.Type, m map[string]any) {
	for _, f := range fields(typ) {
		if hasTwin(typ, f) {
			l.twin(path, f.name, m)
			continue
		}
		sub, _ := section(f.typ)
		if sub == nil {
			continue
		}
		switch v := m[f.name].(type) {
		case map[string]any:
			l.secrets(join(path, f.name), sub, v)
		case []any:
			for i, e := range v {
				if e, ok := e.(map[string]any); ok {
					l.secrets(element(join(path, f.name), i), sub, e)
				}
			}
		}
	}
}

// twin resolves one key_file. The environment stands above the file: if it sets
// one of the two, the file's other one is overridden.
func (l *loader) twin(path, name string, m map[string]any) {
	file := name + "_file"
	inline, fromFile := join(path, name), join(path, file)
	if text, ok := m[name].(string); ok {
		m[name] = platforms.Secret(text)
	}
	where, given := m[file]
	delete(m, file)
	if !given || where == "" {
		return
	}
	if v, both := m[name]; both && v != platforms.Secret("") {
		inEnv, fileInEnv := l.faults.env[inline] != "", l.faults.env[fromFile] != ""
		if inEnv == fileInEnv {
			l.faults.add(fromFile, "%s is set too; keep one of the two", name)
		}
		if !fileInEnv {
			return
		}
	}
	if l.adapters == nil { // nothing is built from it: its reader may not read secrets
		return
	}
	text, isText := where.(string)
	if !isText {
		l.faults.add(fromFile, "not a path; put the value in quotes")
		return
	}
	secret, err := l.readSecret(fromFile, text)
	if err != nil {
		l.faults.add(fromFile, "%v", err)
		return
	}
	m[name] = platforms.Secret(secret)
}

// readSecret returns the trimmed content of a secret's file. A file that others
// can read is warned of; not below the credentials directory, where systemd
// grants access by a list that shows as group permission.
func (l *loader) readSecret(key, path string) (string, error) {
	rest, managed := strings.CutPrefix(path, credentials)
	if managed {
		dir := os.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return "", errors.New("CREDENTIALS_DIRECTORY is not set; systemd sets it for a unit with LoadCredential=")
		}
		path = filepath.Join(dir, rest)
	}
	path = l.path(path)
	info, err := os.Stat(path) // before the opening: a named pipe would block
	if err != nil {
		return "", secretFault(err, path)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", fmt.Errorf("%s is not a file with a secret", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", secretFault(err, path)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", fmt.Errorf("%s is empty; put the secret into it", path)
	}
	if perm := info.Mode().Perm(); perm&0o044 != 0 && !managed {
		l.warn("%s: %s can be read by others (%04o); chmod 600 %[2]s", key, path, perm)
	}
	return secret, nil
}

// secretFault says why a secret's file cannot be read and what to do.
func secretFault(err error, path string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist; create it with the secret in it", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read; give it to the user herald runs as", path)
	}
	return fmt.Errorf("read the secret: %w", err)
}
