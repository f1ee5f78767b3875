/// What progress lines have in common.
enum Progress {
    /// Whole percent, never over 100: a listing may grow while it is read, and a server rewrites files.
    static func percent(_ done: Int64, of whole: Int64?) -> Int64? {
        guard let whole, whole > 0 else { return nil }
        return min(100, max(0, Int64(Double(done) / Double(whole) * 100)))
    }

    /// The rate, and the time that the rest will take.
    static func rest(_ done: Int64, of whole: Int64?, rate: Double?, _ text: (Int64) -> String) -> [String] {
        guard let rate, rate >= 1 else { return [] }
        return ["\(text(Int64(rate)))/s"] + timeLeft(done, of: whole, rate: rate)
    }

    /// The time that the rest will take.
    static func timeLeft(_ done: Int64, of whole: Int64?, rate: Double?) -> [String] {
        guard let rate, rate >= 1, let whole, done < whole else { return [] }
        return ["ETA \(Formats.clock(.seconds(Double(whole - done) / rate)))"]
    }
}
