package xiaohongshu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/platforms"
	"herald/platforms/platformtest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
)

func TestTheTextOfAFailureTellsItsKind(t *testing.T) {
	tests := []struct {
		kind    platforms.Kind
		details []string
	}{
		{platforms.Rejected, []string{
			"标题长度超过限制", "当前输入长度为1203，最大长度为1000", "正文长度超过限制", "不支持的可见范围: 所有人",
			"定时发布时间格式错误，请使用 ISO8601 格式", "定时发布时间不能超过14天", "图片不能为空", "no valid images found",
			"downloaded file is not a valid image", "下载图片失败 https://example.com/a: download failed with status 404",
		}},
		{platforms.Invalid, []string{"定时发布时间必须至少在1小时后"}},
		{platforms.Unavailable, []string{
			"下载图片失败 https://example.com/a: connection refused", "下载图片失败: download failed with status 502",
			"小红书上传图片失败: 第3张图片上传超时(60s)", "第2张图片上传超时",
		}},
		{platforms.Dependency, []string{
			"导航到发布页面失败: context deadline exceeded", "没有找到发布 TAB - 上传图文", "发布 TAB 上传图文 一直被浮层遮挡",
			"查找标题输入框失败: context deadline exceeded", "查找正文输入框失败: context deadline exceeded", "回点标题输入框失败",
			"等待发布按钮可点击超时: 图片仍在上传", "页面没有文件上传输入框", "context deadline exceeded", "300015",
		}},
		{platforms.Unauthorized, []string{
			"未找到可见范围选项: 仅自己可见", "设置原创声明失败: 未找到开关", "绑定商品失败", "未找到添加商品按钮",
			"登录已过期", "300012 IP存在风险，请切换可靠网络环境后重试", "300011", "navigate: website-login/error?httpStatus=461&verifyType=124",
		}},
		{platforms.RateLimited, []string{"操作频繁，请稍后再试", "请求太频繁", "访问频次异常", "code 300013"}},
		{platforms.Uncertain, []string{
			"发布未确认成功：点击发布后未跳转离开发布页（可能校验未过或被拦截）", "等待发布按钮失败: context canceled",
		}},
		{platforms.Unknown, []string{"月亮太圆"}},
	}
	for _, tt := range tests {
		for _, details := range tt.details {
			w := newWorld(t, xiaohongshutest.Options{})
			w.Script(publish, 1, xiaohongshutest.FailToPublish(details))
			_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
			e := failed(t, err)
			if e.Kind != tt.kind || !strings.HasPrefix(e.Message, "发布失败: ") {
				t.Errorf("%s: got %s (%v), want %s", details, e.Kind, e, tt.kind)
			}
			if noID := strings.HasPrefix(details, "发布未确认成功"); noID != (e.Code == platforms.CodeNoID) || !noID && e.Code != codePublishFailed {
				t.Errorf("%s: code %q", details, e.Code)
			}
		}
	}
}

func TestEveryTextIsReached(t *testing.T) {
	for i, row := range publishTexts {
		if kind, _ := meaning(row.part); kind != row.kind {
			t.Errorf("%q means %s, because an earlier text is part of it, and not its own %s", row.part, kind, row.kind)
		}
		if slices.ContainsFunc(publishTexts[:i], func(o text) bool { return o.part == row.part }) {
			t.Errorf("%q is there twice", row.part)
		}
	}
}

func TestAPanicOfTheInterfaceDependsOnTheCall(t *testing.T) {
	for endpoint, want := range map[string]platforms.Kind{publish: platforms.Uncertain, me: platforms.Dependency} {
		w := newWorld(t, xiaohongshutest.Options{})
		w.Script(endpoint, 1, xiaohongshutest.Panic())
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if e := failed(t, err); e.Kind != want || e.Code != "INTERNAL_ERROR" || !strings.HasPrefix(e.Message, "服务器内部错误") {
			t.Errorf("%s: got %+v, want %s", endpoint, e, want)
		}
	}
}

func TestAGatewayInFrontIsJudgedByItsStatus(t *testing.T) {
	for status, want := range map[int]platforms.Kind{
		403: platforms.Unauthorized, 429: platforms.RateLimited, 502: platforms.Uncertain, 504: platforms.Uncertain,
	} {
		w := newWorld(t, xiaohongshutest.Options{})
		w.Script(publish, 1, xiaohongshutest.AnswerStatus(status))
		_, err := w.Publish(t.Context(), w.post(t, "甲"), platformtest.NewMemo())
		if e := failed(t, err); e.Kind != want {
			t.Errorf("%d: got %+v, want %s", status, e, want)
		}
	}
}

func TestAWrongTokenIsUnauthorized(t *testing.T) {
	s := xiaohongshutest.New(xiaohongshutest.Options{Token: "another"})
	c, err := New(config(), platforms.Env{Dir: t.TempDir(), Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, c.Probe(t.Context())); e.Kind != platforms.Unauthorized || e.Code != "UNAUTHORIZED" {
		t.Errorf("got %+v", e)
	}
}

func TestANoteThatIsNotToBeSeenIsAbsent(t *testing.T) {
	for _, text := range goneTexts {
		w := newWorld(t, xiaohongshutest.Options{})
		p, m := w.post(t, "甲"), platformtest.NewMemo()
		r, err := w.Publish(t.Context(), p, m)
		if err != nil {
			t.Fatal(err)
		}
		w.Delete(r.ID)
		w.Script("POST /api/v1/feeds/detail", 1, xiaohongshutest.Answer(codeDetailFailed, "笔记不可访问: "+text))
		if found, err := w.Find(t.Context(), p, began(), m); err != nil || found.Outcome != platforms.Absent {
			t.Errorf("%s: found %+v, %v; want Absent", text, found, err)
		}
	}
	w := newWorld(t, xiaohongshutest.Options{})
	p, m := w.post(t, "甲"), platformtest.NewMemo()
	r, err := w.Publish(t.Context(), p, m)
	if err != nil {
		t.Fatal(err)
	}
	w.Delete(r.ID)
	w.Script("POST /api/v1/feeds/detail", 1, xiaohongshutest.Answer(codeDetailFailed, "context deadline exceeded"))
	if _, err := w.Find(t.Context(), p, began(), m); platforms.KindOf(err) != platforms.Dependency {
		t.Errorf("a page that did not open: %v, want dependency", err)
	}
}

func TestFaultsOfTheConfigurationNameTheirKey(t *testing.T) {
	tests := []struct {
		cfg  Config
		keys []string
	}{
		{Config{}, nil},
		{Config{BaseURL: []string{"http://[::1]:18060", "http://127.0.0.1:18061"}}, nil},
		{Config{BaseURL: []string{"localhost:18060"}}, []string{"base_url"}},
		{Config{BaseURL: []string{"http://xhs:18060"}}, []string{"image_mount"}},
		{Config{BaseURL: []string{"http://xhs:18060"}, ImageMount: "/app/images"}, nil},
		{Config{BaseURL: []string{"http://xhs:18060"}, ImageDir: "/srv/shared"}, nil},
		{Config{ImageMount: "images", ImageReferers: []string{"x"}}, []string{"image_mount", "image_referers"}},
	}
	for _, tt := range tests {
		var keys []string
		err := tt.cfg.Validate()
		if joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err); ok {
			for _, e := range joined.Unwrap() {
				key, _, _ := strings.Cut(e.Error(), ":")
				keys = append(keys, key)
			}
		}
		if !slices.Equal(keys, tt.keys) {
			t.Errorf("%+v: faults %v, want of %v", tt.cfg, err, tt.keys)
		}
	}
}
