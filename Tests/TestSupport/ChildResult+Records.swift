internal import Foundation
internal import Testing

extension ChildResult {
    /// The records of one type in the output of a run with `--json`; every line must be a record.
    public func records(_ type: String = "item") throws -> [[String: Any]] {
        try lines.map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
            .filter { $0["type"] as? String == type }
    }
}
