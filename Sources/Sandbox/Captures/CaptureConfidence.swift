import Foundation

/// How much a server believes a capture (contract 1.4, 3.4).
enum CaptureConfidence {
    private static let ranks = ["low", "medium", "high"]

    /// From `pass`, `fail` or `unavailable` of both; `level` is the device's, where it caps the confidence.
    static func level(hardware: String, depth: String, cappedFor level: String?) -> String {
        if [hardware, depth].contains("fail") { return "suspicious" }
        let rank = [hardware, depth].count { $0 == "pass" }
        let cap =
            switch level {
            case nil, "secure_enclave": 2
            case "software": 0
            default: 1
            }
        return ranks[min(rank, cap)]
    }

    static let processing: JSONValue = ["processed_by": "mediactl-sandbox"]
}
