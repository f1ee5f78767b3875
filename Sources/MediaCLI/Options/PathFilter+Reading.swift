internal import MediaFiles

extension PathFilter {
    /// Reads the patterns of `--include` and `--exclude`.
    ///
    /// - Throws: `Diagnosis` for one that cannot be read.
    static func reading(includes: [String], excludes: [String]) throws(Diagnosis) -> PathFilter {
        PathFilter(
            includes: try includes.map { text throws(Diagnosis) in try pattern(text, "--include") },
            excludes: try excludes.map { text throws(Diagnosis) in try pattern(text, "--exclude") }
        )
    }

    private static func pattern(_ text: String, _ flag: String) throws(Diagnosis) -> GlobPattern {
        do {
            return try GlobPattern(text)
        } catch {
            throw .usage("\(flag): \(ErrorCatalogue.quoted(text)): \(ErrorCatalogue.clean(error.reason))")
        }
    }
}
