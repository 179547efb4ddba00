package wechat

import (
	"herald/internal/httpx"
	"herald/platforms"
)

// codes is what the platform's errcode means. Sources: the error tables of
// https://developers.weixin.qq.com/doc/subscription/guide/ and of the pages of each
// endpoint, and the public lists of the clients that are in use.
var codes = platforms.Codes{
	// Busy. On a call that creates something they leave open whether it was done: see kindOf.
	"-1":        platforms.Unavailable, // platform busy or internal error
	"61450":     platforms.Unavailable, // system error
	"9001002":   platforms.Unavailable, // a remote backend was unavailable
	"9001010":   platforms.Unavailable, // upload failed on the remote side
	"268487001": platforms.Unavailable, // platform gateway busy
	"268487002": platforms.Unavailable, // platform gateway busy

	// Too fast, or a quota is used up. For how long is in retryAt.
	"45009": platforms.RateLimited, // call quota used up (per day)
	"45011": platforms.RateLimited, // per-minute frequency limit
	"45040": platforms.RateLimited, // monthly call quota used up
	"45061": platforms.RateLimited, // changed too often, try again later
	"45101": platforms.RateLimited, // upload quota used up
	"45102": platforms.RateLimited, // endpoint temporarily blocked by the platform
	"45104": platforms.RateLimited, // domain quota used up
	"45501": platforms.RateLimited, // requests blocked for now by the supervisor
	"48006": platforms.RateLimited, // monthly clearing allowance used up
	"53501": platforms.RateLimited, // publishing too often

	// Credential, allow list, permission, penalty. The three of a token mean this only when a new token is refused too.
	"40001": platforms.Unauthorized, // AppSecret wrong or access_token invalid / not the newest one
	"40013": platforms.Unauthorized, // AppID invalid
	"40014": platforms.Unauthorized, // access_token malformed or invalid
	"40125": platforms.Unauthorized, // AppSecret invalid
	"40164": platforms.Unauthorized, // caller IP is not on the account's IP allow list
	"40243": platforms.Unauthorized, // AppSecret was frozen by the administrator
	"42001": platforms.Unauthorized, // access_token expired
	"42007": platforms.Unauthorized, // user changed password, authorisation void
	"45034": platforms.Unauthorized, // number of stored media is over the limit
	"45035": platforms.Unauthorized, // caller IP not registered / not allow-listed
	"45062": platforms.Unauthorized, // account has an advertising contract, must use the console
	"45074": platforms.Unauthorized, // material list over the limit
	"45103": platforms.Unauthorized, // endpoint not supported for this account
	"48001": platforms.Unauthorized, // account or app has no permission for this endpoint
	"48003": platforms.Unauthorized, // mass-send agreement not accepted
	"48004": platforms.Unauthorized, // endpoint banned because of irregularities
	"48008": platforms.Unauthorized, // no permission for this message type
	"48012": platforms.Unauthorized, // token does not suit this endpoint
	"48015": platforms.Unauthorized, // account has no comment feature
	"49001": platforms.Unauthorized, // access_token belongs to another appid
	"50001": platforms.Unauthorized, // no authorisation for this endpoint
	"50002": platforms.Unauthorized, // account is restricted
	"50004": platforms.Unauthorized, // account forbidden to fetch tokens
	"50007": platforms.Unauthorized, // account frozen
	"53404": platforms.Unauthorized, // account's selling ability is restricted
	"53406": platforms.Unauthorized, // selling ability not enabled
	"53500": platforms.Unauthorized, // publish function banned for this account
	"61003": platforms.Unauthorized, // component not authorised by this account
	"61004": platforms.Unauthorized, // caller IP not registered
	"61007": platforms.Unauthorized, // authorisation lacks this permission set
	"76003": platforms.Unauthorized, // rid belongs to another account
	"76022": platforms.Unauthorized, // no permission for that cgi_path
	"88000": platforms.Unauthorized, // account has no comment privilege
	"89503": platforms.Unauthorized, // administrator must confirm this IP for the token call
	"89504": platforms.Unauthorized, // confirmation for this IP pending
	"89505": platforms.Unauthorized, // confirmation for this IP not finished or refused once
	"89506": platforms.Unauthorized, // administrator refused this IP; blocked for 24 h
	"89507": platforms.Unauthorized, // administrator refused this IP; blocked for 1 h

	// This content can never pass, or what is asked for can only be done by hand.
	"40005":   platforms.Rejected, // uploaded file type not allowed
	"40006":   platforms.Rejected, // uploaded file size out of range
	"40009":   platforms.Rejected, // image size invalid (0 bytes or over the limit)
	"40012":   platforms.Rejected, // thumbnail file size invalid
	"40039":   platforms.Rejected, // URL length invalid
	"40048":   platforms.Rejected, // URL domain not allowed
	"40062":   platforms.Rejected, // title size invalid
	"40068":   platforms.Rejected, // content contains a malicious URL
	"40113":   platforms.Rejected, // file type unsupported
	"40137":   platforms.Rejected, // image format invalid or unreadable
	"40141":   platforms.Rejected, // an image URL in the content is invalid
	"40155":   platforms.Rejected, // content links to another account's home page
	"40160":   platforms.Rejected, // image file unreadable
	"40191":   platforms.Rejected, // picture URL invalid
	"40192":   platforms.Rejected, // author field invalid
	"40204":   platforms.Rejected, // article cannot be deleted
	"40213":   platforms.Rejected, // link tag attribute invalid
	"40214":   platforms.Rejected, // link text invalid
	"40215":   platforms.Rejected, // number of images invalid
	"40227":   platforms.Rejected, // title is empty
	"41039":   platforms.Rejected, // content_source_url invalid
	"41040":   platforms.Rejected, // original declaration conditions not met
	"44004":   platforms.Rejected, // text content is empty
	"45001":   platforms.Rejected, // media file too large
	"45002":   platforms.Rejected, // message content too large
	"45003":   platforms.Rejected, // title too long
	"45004":   platforms.Rejected, // digest too long
	"45005":   platforms.Rejected, // a URL field is too long
	"45006":   platforms.Rejected, // picture URL too long
	"45008":   platforms.Rejected, // too many articles in the message
	"45020":   platforms.Rejected, // too many images
	"45021":   platforms.Rejected, // argument longer than allowed
	"45068":   platforms.Rejected, // file too large
	"45086":   platforms.Rejected, // mini-program appid in content is invalid
	"45110":   platforms.Rejected, // author too long
	"45166":   platforms.Rejected, // content refused (bad or disallowed markup, links, or too long)
	"45168":   platforms.Rejected, // text hits a blocked keyword
	"48005":   platforms.Rejected, // material is in use and cannot be deleted
	"48010":   platforms.Rejected, // material may not be modified
	"48021":   platforms.Rejected, // draft was auto-saved and cannot be mass-sent
	"53402":   platforms.Rejected, // cover crop failed
	"53405":   platforms.Rejected, // product data wrong
	"53503":   platforms.Rejected, // draft did not pass the publish check
	"53504":   platforms.Rejected, // draft must be published from the official site
	"53505":   platforms.Rejected, // draft must be saved by hand on the official site first
	"76001":   platforms.Rejected, // rid not found
	"76004":   platforms.Rejected, // rid older than 7 days
	"87014":   platforms.Rejected, // text or picture is risky content
	"88001":   platforms.Rejected, // message data does not exist
	"9001008": platforms.Rejected, // uploaded file type not acceptable
	"9001009": platforms.Rejected, // uploaded image dimensions not acceptable

	// A faulty request.
	"40002":   platforms.Invalid, // grant_type unknown, or (freepublish/get) an argument is invalid
	"40004":   platforms.Invalid, // media type value unknown (type=...)
	"40008":   platforms.Invalid, // message type invalid
	"40033":   platforms.Invalid, // request uses a character set it must not
	"40035":   platforms.Invalid, // argument malformed or out of allowed size
	"40038":   platforms.Invalid, // request body packaging invalid
	"40060":   platforms.Invalid, // article idx out of range
	"40066":   platforms.Invalid, // URL invalid
	"40097":   platforms.Invalid, // argument invalid
	"40101":   platforms.Invalid, // mandatory parameter missing
	"40114":   platforms.Invalid, // articles index invalid (draft/update)
	"40118":   platforms.Invalid, // media_id length invalid
	"40121":   platforms.Invalid, // media_id belongs to a different media type
	"40128":   platforms.Invalid, // media_id must come from add_material (permanent)
	"40221":   platforms.Invalid, // Content-Encoding header invalid
	"41001":   platforms.Invalid, // access_token missing from query
	"41002":   platforms.Invalid, // appid missing
	"41004":   platforms.Invalid, // secret missing
	"41005":   platforms.Invalid, // no media data in the request
	"41006":   platforms.Invalid, // media_id missing
	"41011":   platforms.Invalid, // mandatory field missing
	"41026":   platforms.Invalid, // image list missing
	"43001":   platforms.Invalid, // endpoint wants GET
	"43002":   platforms.Invalid, // endpoint wants POST
	"43003":   platforms.Invalid, // endpoint wants HTTPS
	"44001":   platforms.Invalid, // uploaded media is empty
	"44002":   platforms.Invalid, // POST body is empty
	"44003":   platforms.Invalid, // articles list is empty or its shape is wrong
	"44005":   platforms.Invalid, // list is empty
	"44006":   platforms.Invalid, // file data is empty
	"47001":   platforms.Invalid, // JSON or XML could not be parsed
	"47002":   platforms.Invalid, // JSON must not use \u escapes
	"61451":   platforms.Invalid, // parameter invalid
	"63001":   platforms.Invalid, // a parameter is empty
	"76002":   platforms.Invalid, // rid malformed
	"76021":   platforms.Invalid, // cgi_path unknown
	"87009":   platforms.Invalid, // signature invalid
	"9001001": platforms.Invalid, // POST body invalid
	"9001007": platforms.Invalid, // no uploaded data found in body

	// What the call is about is not there (any more): published, deleted, or not known yet. See kindOf.
	"40007": platforms.Exists, // media_id unknown
	"46001": platforms.Exists, // media data does not exist
	"53600": platforms.Exists, // article_id invalid

	// A job that the platform does not know: whether the article is there is for a look-up.
	"53502": platforms.Uncertain, // publish_id invalid

	// The API itself has changed.
	"48009": platforms.Dependency, // endpoint was retired

	// Codes of calls that herald never makes: they say nothing.
	"40003": platforms.Unknown, // user OpenID invalid
	"40010": platforms.Unknown, // voice file size invalid
	"40011": platforms.Unknown, // video file size invalid
	"40030": platforms.Unknown, // refresh_token invalid
	"40132": platforms.Unknown, // WeChat id invalid
	"40163": platforms.Unknown, // oauth code already used
	"41003": platforms.Unknown, // refresh_token missing
	"42002": platforms.Unknown, // refresh_token expired
	"45007": platforms.Unknown, // voice too long
	"45028": platforms.Unknown, // mass-send quota used up
	"45065": platforms.Unknown, // this client message id was already sent (mass-send)
	"45066": platforms.Unknown, // same client message id retried too quickly
	"45067": platforms.Unknown, // client message id too long
	"46002": platforms.Unknown, // menu version does not exist
	"46003": platforms.Unknown, // menu data does not exist
	"46004": platforms.Unknown, // user does not exist
	"48002": platforms.Unknown, // user blocks messages
}

// inCall is what a code means that depends on the call.
var inCall = map[string]platforms.Codes{
	// A new cover takes a moment to be known; one that is gone is uploaded again.
	opAddDraft:    {"40007": platforms.Unavailable},
	opUpdateDraft: {"40007": platforms.Unavailable},
}

// kindOf returns what a code means as the answer to a call.
func kindOf(op string, call httpx.Call, code string) platforms.Kind {
	if kind, ok := inCall[op][code]; ok {
		return kind
	}
	kind := codes.Kind(code)
	if kind == platforms.Unavailable && call == httpx.Write {
		return platforms.Uncertain // busy, but perhaps after it was done
	}
	return kind
}
