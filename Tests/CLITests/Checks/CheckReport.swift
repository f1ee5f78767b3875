import Foundation
import TestSupport
import Testing

/// The output of `doctor` or `smoke` with `--json`.
struct CheckReport {
    let result: ChildResult
    let records: [[String: Any]]

    init(_ result: ChildResult) {
        self.result = result
        records = result.lines.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(records.count == result.lines.count, "every line is a record: \(result)")
    }
}
