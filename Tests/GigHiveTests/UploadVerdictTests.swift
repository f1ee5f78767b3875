import MediaTransport
import Testing

@testable import GigHive

/// The meaning of a 3xx or 4xx before and after a complete request body.
@Suite struct UploadVerdictTests {
    /// gighive contract 2.5 (400, 401, 404, 413, 415) and section 8 (403). 409 is a duplicate (section 3).
    private static let refusals = [400, 401, 403, 404, 413, 415]
    private static let others = Array(400..<500).filter { !(refusals + [409]).contains($0) }

    private static let bodies = ["", "{}", "<title>Page of a proxy</title>", #"{"error":"E","message":"M"}"#]

    private func verdict(_ status: Int, _ body: String, bodyComplete: Bool = true) -> UploadVerdict {
        .of(
            UploadResponse.parse(status: status, body: Array(body.utf8)),
            head: HTTPResponseHead(status: status),
            bodyComplete: bodyComplete
        )
    }

    @Test(arguments: others, bodies) func anUndefinedStatusIsALostResponse(_ status: Int, _ body: String) {
        guard case .unknown(let error, isServerFinished: false) = verdict(status, body) else {
            Issue.record("\(verdict(status, body))")
            return
        }
        #expect(error.httpStatus == status)
    }

    @Test(arguments: refusals, bodies) func aRefusalDefinedByTheContractStaysARefusal(_ status: Int, _ body: String) {
        guard case .refused(let error, mayRepeat: false) = verdict(status, body) else {
            Issue.record("\(verdict(status, body))")
            return
        }
        #expect(error.httpStatus == status)
    }

    /// A web form redirects after it has stored the file.
    @Test(arguments: 300..<400, bodies) func aRedirectAfterTheBodyIsQueried(_ status: Int, _ body: String) {
        guard case .unknown(let error, isServerFinished: true) = verdict(status, body) else {
            Issue.record("\(verdict(status, body))")
            return
        }
        #expect(error.code == .redirected)
        guard case .refused(let early, mayRepeat: false) = verdict(status, body, bodyComplete: false) else {
            Issue.record("\(verdict(status, body, bodyComplete: false))")
            return
        }
        #expect(early.code == .redirected)
    }

    /// The server cannot have stored an incomplete file. 408, 423 and 429 are temporary, so the upload may be retried.
    @Test(arguments: others) func anIncompleteBodyIsNeverStored(_ status: Int) {
        guard case .refused(_, let mayRepeat) = verdict(status, "", bodyComplete: false) else {
            Issue.record("\(verdict(status, "", bodyComplete: false))")
            return
        }
        #expect(mayRepeat == [408, 423, 429].contains(status))
    }

    /// Any other 400 page is from a web server or proxy that did not receive the whole request.
    @Test func aPortForHTTPSIsNotRetried() {
        let page = "<title>400 The plain HTTP request was sent to HTTPS port</title>"
        for (page, isRepeated) in [(page, false), ("<title>400 Bad Request</title>", true)] {
            guard case .refused(let error, let mayRepeat) = verdict(400, page, bodyComplete: false) else {
                Issue.record("\(verdict(400, page, bodyComplete: false))")
                continue
            }
            #expect(mayRepeat == isRepeated && error.endsRun != isRepeated)
        }
    }

    @Test(arguments: others, bodies) func anUndefinedStatusOfFinalizeIsALostResponse(_ status: Int, _ body: String) {
        let response = UploadResponse.parse(status: status, body: Array(body.utf8))
        guard case .lost(let error) = FinalizeVerdict.of(response, head: HTTPResponseHead(status: status)) else {
            Issue.record("\(FinalizeVerdict.of(response, head: HTTPResponseHead(status: status)))")
            return
        }
        #expect(error.httpStatus == status)
    }

    @Test(arguments: refusals, bodies) func aRefusalOfFinalizeStaysARefusal(_ status: Int, _ body: String) {
        let response = UploadResponse.parse(status: status, body: Array(body.utf8))
        guard case .refused(_, mayRepeat: false) = FinalizeVerdict.of(response, head: HTTPResponseHead(status: status))
        else {
            Issue.record("\(FinalizeVerdict.of(response, head: HTTPResponseHead(status: status)))")
            return
        }
    }
}
