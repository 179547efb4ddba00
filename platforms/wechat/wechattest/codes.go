package wechattest

// The codes that the platform answers with by itself.
const (
	codeSystem          = -1
	codeInvalidToken    = 40001
	codeGrantType       = 40002
	codeMediaType       = 40004
	codeFileType        = 40005
	codeMediaID         = 40007
	codeImageSize       = 40009
	codeAppID           = 40013
	codeMalformedToken  = 40014
	codeURL             = 40066
	codeArgument        = 40097
	codeIndex           = 40114
	codeSecret          = 40125
	codeImageFormat     = 40137
	codeIP              = 40164
	codeReserved        = 40204
	codeImageCount      = 40215
	codeNoTitle         = 40227
	codeMissingToken    = 41001
	codeMissingAppID    = 41002
	codeMissingSecret   = 41004
	codeNoMedia         = 41005
	codeNoImages        = 41026
	codeSourceURL       = 41039
	codeExpiredToken    = 42001
	codeGET             = 43001
	codePOST            = 43002
	codeEmptyBody       = 44002
	codeNoArticles      = 44003
	codeEmptyText       = 44004
	codeFileTooLarge    = 45001
	codeContentTooLarge = 45002
	codeTitleTooLong    = 45003
	codeDigestTooLong   = 45004
	codeTooManyArticles = 45008
	codeDayQuota        = 45009
	codeMinuteQuota     = 45011
	codeLibraryFull     = 45034
	codeAuthorTooLong   = 45110
	codeContent         = 45166
	codeParse           = 47001
	codeEscapes         = 47002
	codeNoPermission    = 48001
	codeTooOften        = 53501
	codePublishID       = 53502
	codeArticleID       = 53600
	codePath            = 76021
	codeNoComments      = 88000
)

// texts are the platform's words for its codes; others it gives none.
var texts = map[int]string{
	codeSystem:          "system error",
	codeInvalidToken:    "invalid credential, access_token is invalid or not latest, could get access_token by getStableAccessToken, more details at https://mmbizurl.cn/s/JtxxFh33r",
	codeGrantType:       "invalid grant_type",
	codeMediaType:       "invalid media type",
	codeFileType:        "invalid file type",
	codeMediaID:         "invalid media_id",
	codeImageSize:       "invalid image size",
	codeAppID:           "invalid appid",
	codeMalformedToken:  "invalid access_token",
	codeURL:             "invalid url",
	codeArgument:        "invalid args",
	codeIndex:           "invalid index value",
	codeSecret:          "invalid appsecret,",
	codeImageFormat:     "invalid image format",
	codeMissingToken:    "access_token missing",
	codeMissingAppID:    "appid missing",
	codeMissingSecret:   "appsecret missing",
	codeNoMedia:         "media data missing",
	codeExpiredToken:    "access_token expired",
	codeGET:             "require GET method",
	codePOST:            "require POST method",
	codeEmptyBody:       "empty post data",
	codeNoArticles:      "empty news data",
	codeEmptyText:       "empty content",
	codeContentTooLarge: "content size out of limit",
	codeTitleTooLong:    "title size out of limit",
	codeDigestTooLong:   "description size out of limit",
	codeDayQuota:        "reach max api daily quota limit",
	codeMinuteQuota:     "api minute-quota reach limit, must slower, retry next minute",
	codeLibraryFull:     "media count out of limit",
	codeAuthorTooLong:   "author size out of limit",
	codeContent:         "invalid content",
	codeParse:           "data format error",
	codeEscapes:         "json not use unicode escape",
	codeNoPermission:    "api unauthorized",
	codePublishID:       "invalid publish_id",
	codeArticleID:       "invalid article_id",
	codeNoComments:      "open comment without comment privilege",
}

// failure is an answer with an errcode.
type failure struct {
	code    int
	message string
}

// Error is the platform's text.
func (f failure) Error() string { return f.message }

func fail(code int) failure {
	if text, ok := texts[code]; ok {
		return failure{code, text}
	}
	return failure{code, "error"}
}
