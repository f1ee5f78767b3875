import Foundation

/// The parameters of a URL's query, decoded as PHP does; the last of a name wins.
struct QueryParameters: Sendable {
    private(set) var all: [String: String] = [:]

    init(_ query: String) {
        for pair in query.split(separator: "&") {
            let pieces = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            all[Self.decoded(pieces[0])] = pieces.count > 1 ? Self.decoded(pieces[1]) : ""
        }
    }

    subscript(name: String) -> String? { all[name] }

    private static func decoded(_ text: Substring) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }
}
