import Testing

@testable import Sandbox

@Suite struct FaultSyntaxTests {
    @Test(arguments: [
        ("upload:reset", Fault(place: .upload, kind: .reset)),
        ("upload:file-limit=2000", Fault(place: .upload, kind: .fileLimit, number: 2000)),
        ("upload:post-limit=2000", Fault(place: .upload, kind: .postLimit, number: 2000)),
        ("php:status=503", Fault(place: .php, kind: .status, number: 503)),
        ("upload:reset,after=65536", Fault(place: .upload, kind: .reset, moment: .bodyBytes(65536))),
        ("upload:reset,after=response-headers", Fault(place: .upload, kind: .reset, moment: .responseHeaders)),
        ("media:reset,after=response+10", Fault(place: .media, kind: .reset, moment: .responseBytes(10))),
        ("upload:stall,after=body,for=1.5", Fault(place: .upload, kind: .stall, seconds: 1.5, moment: .wholeBody)),
        (
            "delete:status=429,retry-after=2,times=3",
            Fault(place: .delete, kind: .status, number: 429, times: 3, retryAfter: 2)
        ),
        ("listing:truncate=10", Fault(place: .listing, kind: .truncate, number: 10)),
        (
            "tus-patch:status=503,every=100,skip=50",
            Fault(place: .tusPatch, kind: .status, number: 503, every: 100, skip: 50)
        ),
        ("finalize:status-after=504", Fault(place: .finalize, kind: .statusAfter, number: 504)),
        ("upload:drop-response", Fault(place: .upload, kind: .dropResponse)),
        ("upload:drop-answer", Fault(place: .upload, kind: .dropResponse)),
        ("upload:delay-answer=2", Fault(place: .upload, kind: .delayResponse, seconds: 2)),
        ("tus-create:limit=1000", Fault(place: .tusCreate, kind: .limit, number: 1000)),
        ("tus-head:expire", Fault(place: .tusHead, kind: .expire)),
        ("finalize:forget,times=1", Fault(place: .finalize, kind: .forget, times: 1)),
        ("photos-list:total=7,skip=1", Fault(place: .photosList, kind: .total, number: 7, skip: 1)),
        ("photos-upload:body-timeout=0.5", Fault(place: .photosUpload, kind: .bodyTimeout, seconds: 0.5)),
        (
            "photos-download:redirect=http://x/y?a=b",
            Fault(place: .photosDownload, kind: .redirect, word: "http://x/y?a=b")
        ),
        ("login:status=500", Fault(place: .login, kind: .status, number: 500)),
        ("upload:no-token", Fault(place: .upload, kind: .noToken)),
    ])
    func reads(text: String, fault: Fault) throws {
        #expect(try FaultSyntax.parse(text) == fault)
    }

    @Test(arguments: [
        "", "upload", "upload:", "nowhere:reset", "upload:explode", "upload:status", "upload:status=abc",
        "upload:status=99", "upload:slow=0", "upload:reset,after=-1", "upload:reset,times=0", "upload:reset,later",
        "upload:reset,after=response+0",
        "upload:forget", "finalize:expire", "tus-create:expire", "upload:reset,every=0", "upload:limit",
        "photos-status:repeated-cursor", "photos-list:corrupt-byte", "photos-list:total", "photos-list:redirect",
        "devices:body-timeout=1", "finalize:post-limit=1",
    ])
    func refuses(text: String) {
        #expect(throws: FaultSyntaxError.self) { try FaultSyntax.parse(text) }
    }
}
