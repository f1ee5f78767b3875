import HTTPTypes
import NIOHTTPTypes

/// Whether a connection is between the head and the end of a request that has no response yet.
struct BodyWatch {
    private var isBodyDue = false

    mutating func received(_ part: HTTPRequestPart) {
        switch part {
        case .head: isBodyDue = true
        case .body: break
        case .end: isBodyDue = false
        }
    }

    mutating func sends(_ part: HTTPResponsePart) {
        // `100 Continue` asks for the body; any other answer makes it superfluous.
        if case .head(let head) = part, head.status.kind != .informational { isBodyDue = false }
    }

    /// Ends the watch.
    /// - Returns: Whether a body was due.
    mutating func end() -> Bool {
        defer { isBodyDue = false }
        return isBodyDue
    }
}
