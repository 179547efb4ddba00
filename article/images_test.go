package article

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImagePathsAreFoundLiterallyThenDecoded(t *testing.T) { // B60
	root := tree(t, map[string]string{
		"post/Pasted image 1.png":  picture(t, 1),
		"post/图 片/截图（1）.png":       picture(t, 2),
		"post/100%.png":            picture(t, 3),
		"post/img/a.png":           picture(t, 4),
		"post/a%20b.png":           picture(t, 5),
		"post/a b.png":             picture(t, 6),
		"post/x_(1).png":           picture(t, 7),
		"post/q.png":               picture(t, 8),
		"post/100% 图.png":          picture(t, 9),
		"post/12:30.png":           picture(t, 11),
		"post/what?.png":           picture(t, 12),
		"assets/logo.png":          picture(t, 13),
		"assets/sub/s.png":         picture(t, 14),
		"post/assets/both.png":     picture(t, 15),
		"assets/both.png":          picture(t, 16),
		"post/vault/deep/bare.png": picture(t, 17),
		"assets/sub/bare2.png":     picture(t, 18),
		"post/a&b.png":             picture(t, 19),
	})
	for ref, want := range map[string]string{
		"![](Pasted%20image%201.png)":                   "post/Pasted image 1.png",
		"![](<Pasted image 1.png>)":                     "post/Pasted image 1.png",
		"![](100%.png)":                                 "post/100%.png",
		`![](img\a.png)`:                                "post/img/a.png",
		`![](.\img\a.png)`:                              "post/img/a.png",
		"![](a%20b.png)":                                "post/a%20b.png",
		"![](<a b.png>)":                                "post/a b.png",
		`![](x\_\(1\).png)`:                             "post/x_(1).png",
		"![](q.png?v=2)":                                "post/q.png",
		"![](q.png#center)":                             "post/q.png",
		"![](what?.png)":                                "post/what?.png",
		"![](12:30.png)":                                "post/12:30.png",
		"![](assets/logo.png)":                          "assets/logo.png",
		"![](logo.png)":                                 "assets/logo.png",
		"![](../assets/logo.png)":                       "assets/logo.png",
		"![](assets/sub/s.png)":                         "assets/sub/s.png",
		"![](assets/both.png)":                          "post/assets/both.png",
		"![](../assets/both.png)":                       "assets/both.png",
		"![](./img/../img/a.png)":                       "post/img/a.png",
		"![a&amp;b](a&amp;b.png)":                       "post/a&b.png",
		"<img src='a&amp;b.png'>":                       "post/a&b.png",
		"![a][l]\n\n[l]: <Pasted image 1.png> \"t\"":    "post/Pasted image 1.png",
		"- x\n\n  > <img\n  > alt=x src=\"img/a.png\">": "post/img/a.png",
		"![[bare.png]]":                                 "post/vault/deep/bare.png",
		"![[img/a.png]]":                                "post/img/a.png",
		"| a |\n|---|\n| ![[img/a.png\\|300]] |":        "post/img/a.png",
		"[![](img/a.png)](https://example.com/)":        "post/img/a.png",
		"x[^1]\n\n[^1]: ![](img/a.png)":                 "post/img/a.png",
		"![[Pasted image 1.png|300x200]]":               "post/Pasted image 1.png",
		"text <img alt='a' src=q.png>":                  "post/q.png",
		"<div>\n<img data-x=\"src=no.png\" src = 'q.png'/>\n</div>": "post/q.png",

		"![](%E5%9B%BE%20%E7%89%87/%E6%88%AA%E5%9B%BE（1）.png)": "post/图 片/截图（1）.png",

		"![](100%%20图.png)": "post/100% 图.png",

		"![[bare2.png|图]]": "assets/sub/bare2.png",
	} {
		t.Run(ref, func(t *testing.T) {
			file := filepath.Join(root, "post/index.md")
			if err := os.WriteFile(file, []byte("# T\n\ntext\n\n"+ref+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			a := mustLoad(t, filepath.Join(root, "post"), Options{Root: root})
			if len(a.Images) != 1 {
				t.Fatalf("images = %+v, want one", a.Images)
			}
			wantEqual(t, "file", a.Images[0].Path, filepath.Join(root, want))
			wantEqual(t, "cover", a.Cover, &a.Images[0])
		})
	}
}

func TestFileNamesAreFoundInEitherUnicodeForm(t *testing.T) { // B60
	for _, names := range [][2]string{{"e\u0301.png", "\u00e9.png"}, {"\u00e9.png", "e\u0301.png"}} {
		root := tree(t, map[string]string{"a.md": "# T\n\n![](" + names[0] + ")\n", names[1]: picture(t, 1)})
		a := mustLoad(t, filepath.Join(root, "a.md"), Options{Root: root})
		wantEqual(t, "file", a.Images[0].Path, filepath.Join(root, names[1]))
	}
}

func TestObsidianEmbedsInCodeAreText(t *testing.T) { // B61
	a := mustLoadText(t, "# T\n\n`![[a.png]]`\n\n    ![[b.png]]\n\n\\![[c.png]]\n\n```\n![](d.png) ![[d.png]]\n```\n", Options{})
	if len(a.Images) != 0 {
		t.Errorf("images = %+v, want none", a.Images)
	}
}

func TestEmbedThatIsNoPictureIsRefused(t *testing.T) { // B61
	_, err := loadText(t, "# T\n\n![[Some note]]\n", Options{})
	wantProblem(t, err, RuleImageMissing, 3, `"Some note"`, "only pictures can be embedded")
	root := tree(t, map[string]string{"a.md": "# T\n\n![[b.md]]\n", "b.md": "x\n"})
	_, err = Load(filepath.Join(root, "a.md"), Options{Root: root})
	wantProblem(t, err, "image-invalid", 3, `"b.md" is not a picture`)
}

func TestMissingImageSaysWhereItWasLookedFor(t *testing.T) { // B69
	root := tree(t, map[string]string{"post/index.md": "# T\n\nx\n\n![](img/A%20b.png)\n", "post/img/a B.png": picture(t, 1)})
	_, err := Load(filepath.Join(root, "post"), Options{Root: root, Name: "post"})
	wantProblem(t, err, RuleImageMissing, 5, "post/index.md:5: image \"img/A%20b.png\" is not there",
		`"post/img/A%20b.png"`, `"post/img/A b.png"`, `"assets/img/A b.png"`, `there is "img/a B.png"`)

	_, err = loadText(t, "---\ntitle: T\ncover: gone.png\nblog: { cover: x/y.png }\n---\nx\n", Options{})
	ps, _ := err.(Problems) //nolint:errorlint // Load promises the type itself
	if len(ps) != 2 || ps[0].Line != 3 || ps[1].Line != 4 || !ps.Has(RuleImageMissing) {
		t.Errorf("problems = %v, want both covers missing", err)
	}
}

func TestImagesFromOutsideAreRefusedAndNamed(t *testing.T) { // B72
	secret := tree(t, map[string]string{"secret.png": picture(t, 1), "dir/in.png": picture(t, 2)})
	root := tree(t, map[string]string{
		"post/ok.png":           picture(t, 3),
		"next/o.png":            picture(t, 4),
		".done/x/r1/index.md":   "# T\n\n![](mine.png)\n",
		".done/x/r1/mine.png":   picture(t, 5),
		".bad/b.png":            picture(t, 6),
		"assets/a.png":          picture(t, 7),
		"assets-private/no.png": picture(t, 8),
	})
	for name, target := range map[string]string{
		"post/link.png":    filepath.Join(secret, "secret.png"),
		"post/linkdir":     filepath.Join(secret, "dir"),
		"post/inside.png":  filepath.Join(root, "post/ok.png"),
		"post/asset.png":   filepath.Join(root, "assets/a.png"),
		"post/other.png":   filepath.Join(root, "next/o.png"),
		"assets/link.png":  filepath.Join(secret, "secret.png"),
		"done.png":         filepath.Join(root, ".done/x/r1/mine.png"),
		"post/loop.png":    filepath.Join(root, "post/loop.png"),
		"assets/other.png": filepath.Join(root, "next/o.png"),
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	load := func(file, ref string) error {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.WriteFile(path, []byte("# T\n\n"+ref+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, Options{Root: root})
		return err
	}

	for _, ref := range []string{
		"../../../../etc/passwd", "/etc/passwd", "..", "../next/o.png", "img/../../next/o.png", "%2e%2e/next/o.png",
		"..%2Fnext%2Fo.png", "..\\next\\o.png", `C:\x.png`, "c:/x.png", `\\server\share\x.png`, "//example.com/x.png",
		"file:///etc/passwd", "FILE:/etc/passwd", "file:x.png", "ftp://example.com/x.png", "javascript:alert(1)",
		"link.png", "linkdir/in.png", "other.png", "assets/link.png", "assets/other.png", "../assets/../next/o.png",
		"../.done/x/r1/mine.png", "../assets-private/no.png", filepath.Join(secret, "secret.png"),
	} {
		t.Run(ref, func(t *testing.T) {
			for _, form := range []string{"![](<" + ref + ">)", "![[" + ref + "]]", "<img src=\"" + ref + "\">"} {
				wantProblem(t, load("post/index.md", form), "image-outside", 3, "index.md:3", ref[strings.LastIndex(ref, `\`)+1:], "beside the article")
			}
		})
	}
	for _, ref := range []string{".done/x/r1/mine.png", ".bad/b.png", "./.bad/b.png", "post/../.bad/b.png", "done.png", "../assets/a.png"} {
		wantProblem(t, load("single.md", "![]("+ref+")"), "image-outside", 3, ref)
	}
	wantProblem(t, load("post/index.md", "![](loop.png)"), RuleImageMissing, 3, "loop.png")
	wantProblem(t, load("post/index.md", "![](data:image/png;base64,"+strings.Repeat("A", 5000)+")"), "image-data", 3, "save the picture as a file", "AAA…")
	wantProblem(t, load("post/index.md", "![]()"), "image-empty", 3, "names no file")

	for file, ref := range map[string]string{
		"post/index.md": "inside.png", "post/more.md": "asset.png", "single.md": "next/o.png", "single2.md": "assets/a.png",
	} {
		if err := load(file, "![]("+ref+")"); err != nil {
			t.Errorf("%s in %s: %v", ref, file, err)
		}
	}
	mustLoad(t, filepath.Join(root, ".done/x/r1"), Options{Root: root, ID: "x"})
}

func TestRemoteImagesStayRemoteUnlessPrivate(t *testing.T) { // B72
	for ref, want := range map[string]string{
		"https://example.com/a.png?fmt=webp&amp;x=1": "https://example.com/a.png?fmt=webp&x=1",
		"HTTP://example.com/图.png":                   "http://example.com/%E5%9B%BE.png",
		"https://93.184.215.14/a.png":                "https://93.184.215.14/a.png",
		"https://[2606:4700::1111]/a.png":            "https://[2606:4700::1111]/a.png",
		"https://internal.example.com/a.png":         "https://internal.example.com/a.png",
	} {
		a := mustLoadText(t, "# T\n\n![图]("+ref+")\n", Options{})
		wantEqual(t, "images", a.Images, []Image{{Ref: ref, URL: want, Alt: "图"}})
	}
	for _, host := range []string{
		"127.0.0.1", "127.1", "0x7f000001", "2130706433", "localhost", "LOCALHOST.", "a.localhost", "10.0.0.1", "192.168.1.1:8080",
		"172.16.0.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "[::1]", "[::]", "[fe80::1]", "[fd00:ec2::254]", "[::ffff:10.0.0.1]",
		"224.0.0.1", "255.255.255.255", "metadata.google.internal", "printer.local", "[64:ff9b::7f00:1]",
	} {
		_, err := loadText(t, "# T\n\n![](http://"+host+"/x?token=hush)\n", Options{})
		wantProblem(t, err, "image-private", 3, host, "private address")
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("the message holds the query: %v", err)
		}
	}
	for _, ref := range []string{"https://user:hush@example.com/a.png", "https://hush@example.com/a.png"} {
		_, err := loadText(t, "# T\n\n![]("+ref+")\n", Options{})
		wantProblem(t, err, "image-address", 3, "user name or password", "example.com/a.png")
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("the message holds the password: %v", err)
		}
	}
	for _, ref := range []string{"https://", "http:///x.png", "https://exa%zzmple/", "http:x.png"} {
		_, err := loadText(t, "# T\n\n![]("+ref+")\n", Options{})
		wantProblem(t, err, "image-address", 3, "is not valid", "https://host/path")
	}
}

func TestTypeOfAPictureIsThatOfItsContent(t *testing.T) { // B63
	const webp = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	for name, tc := range map[string]struct{ content, wantType, wantExt string }{
		"a.webp": {webp, "image/webp", ".webp"},
		"b.jpg":  {webp, "image/webp", ".webp"},
		"c.txt":  {picture(t, 1), "image/png", ".png"},
		"d.png":  {"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "image/jpeg", ".jpg"},
		"e.png":  {"GIF89a\x01\x00\x01\x00", "image/gif", ".gif"},
		"f":      {"\uFEFF<?xml version=\"1.0\" encoding=\"GBK\"?>\n<!-- c -->\n<!DOCTYPE svg>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "image/svg+xml", ".svg"},
		"g.svg":  {"<svg><text>&nbsp;</text></svg>", "image/svg+xml", ".svg"},
		"h.avif": {"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avifmiaf", "image/avif", ".avif"},
		"i.heic": {"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "image/heic", ".heic"},
		"j.bmp":  {"BM\x00\x00\x00\x00", "image/bmp", ".bmp"},
		"k.tif":  {"II*\x00\x08\x00\x00\x00", "image/tiff", ".tif"},
	} {
		root := tree(t, map[string]string{"a.md": "# T\n\n![](" + name + ")\n", name: tc.content})
		im := mustLoad(t, filepath.Join(root, "a.md"), Options{Root: root}).Images[0]
		wantEqual(t, "type of "+name, im.Type, tc.wantType)
		wantEqual(t, "extension of "+name, filepath.Ext(im.Name), tc.wantExt)
		wantEqual(t, "size of "+name, im.Size, int64(len(tc.content)))
		wantEqual(t, "hash of "+name, im.SHA256, hexSHA256([]byte(tc.content)))
	}
	for name, tc := range map[string]struct{ content, text string }{
		"empty.png": {"", `"empty.png" is empty (0 bytes)`},
		"page.png":  {"<html><body><svg></svg></body></html>", "text/html"},
		"text.svg":  {"hello <svg/>", "not a picture"},
		"film.heic": {"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00isommp42", "not a picture"},
		"short.png": {"\x00\x00\x00\xffftyp", "not a picture"},
	} {
		root := tree(t, map[string]string{"a.md": "# T\n\n![](" + name + ")\n", name: tc.content})
		_, err := Load(filepath.Join(root, "a.md"), Options{Root: root})
		wantProblem(t, err, "image-invalid", 3, name, tc.text)
	}
	root := tree(t, map[string]string{"a.md": "# T\n\n![](big.png)\n![](dir)\n", "big.png": "", "dir/x": ""})
	if err := os.Truncate(filepath.Join(root, "big.png"), maxImageBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err := Load(filepath.Join(root, "a.md"), Options{Root: root})
	ps, _ := err.(Problems) //nolint:errorlint // Load promises the type itself
	if len(ps) != 2 || !strings.Contains(ps[0].Error(), "the limit is 50 MiB") || !strings.Contains(ps[1].Error(), `"dir" is not a file`) {
		t.Errorf("problems = %v, want one too big and one that is a folder", err)
	}
}

func TestImagesHaveNamesOfTheirOwn(t *testing.T) {
	one, two := picture(t, 1), picture(t, 2)
	root := tree(t, map[string]string{
		"post/index.md": "---\ntitle: T\ncover: '![[cover.png|x]]'\nblog: { cover: x/a.png, layout: wide }\n---\n" +
			"![A](a.png) ![again](a.png) ![same](copy.png) ![](x/a.png) ![](图.png) ![](https://example.com/r.png)\n",
		"post/a.png": one, "post/copy.png": one, "post/x/a.png": two, "post/图.png": picture(t, 3), "post/cover.png": picture(t, 4),
	})
	a := mustLoad(t, filepath.Join(root, "post"), Options{Root: root})
	var refs, names []string
	for _, im := range a.Images {
		refs, names = append(refs, im.Ref), append(names, im.Name)
	}
	name := func(base string, shade uint8) string {
		return base + "-" + hexSHA256([]byte(picture(t, shade)))[:8] + ".png"
	}
	wantEqual(t, "references", refs, []string{"a.png", "copy.png", "x/a.png", "图.png", "https://example.com/r.png"})
	wantEqual(t, "names", names, []string{name("a", 1), name("a", 1), name("a", 2), name("image", 3), ""})
	wantEqual(t, "cover", a.Cover.Name, name("cover", 4))
	wantEqual(t, "alternative text", a.Images[0].Alt, "A")

	blog := a.For("blog")
	wantEqual(t, "cover for blog", blog.Cover.Path, filepath.Join(root, "post/x/a.png"))
	wantEqual(t, "options for blog", blog.Options, map[string]any{"layout": "wide"})
	var files []string
	for _, im := range a.Files() {
		rel, _ := below(root, im.Path)
		files = append(files, rel)
	}
	wantEqual(t, "files", files, []string{"post/a.png", "post/copy.png", "post/x/a.png", "post/图.png", "post/cover.png"})
}

func TestOpenGivesTheContentThatWasChecked(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "# T\n\n![](a.png)\n", "a.png": picture(t, 1)})
	im := mustLoad(t, filepath.Join(root, "a.md"), Options{Root: root}).Images[0]
	r, err := im.Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != picture(t, 1) {
		t.Errorf("content = %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, changed := range []string{picture(t, 2), picture(t, 1) + "x", ""} {
		if err := os.WriteFile(im.Path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := im.Open(); err == nil || !strings.Contains(err.Error(), "changed") {
			t.Errorf("Open of a changed file: %v", err)
		}
	}
	if _, err := (Image{Ref: "x", URL: "https://example.com/x"}).Open(); err == nil {
		t.Error("a remote image can be opened")
	}
	if _, err := (Image{Path: filepath.Join(root, "gone.png")}).Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a missing file: %v", err)
	}
	r, err = Image{Path: im.Path}.Open()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
}
