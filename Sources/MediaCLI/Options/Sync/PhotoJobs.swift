/// How many photos are on their way at a time.
enum PhotoJobs {
    /// Reads `--jobs`. The setting `jobs` is for uploads to other servers.
    ///
    /// - Parameters:
    ///   - text: What was given.
    ///   - usual: The number when none is given.
    /// - Returns: 1 to 16.
    /// - Throws: `Diagnosis` for what is no number.
    static func count(_ text: String?, usual: Int) throws(Diagnosis) -> Int {
        guard let text else { return usual }
        do {
            return try SettingValue.jobs(text)
        } catch {
            throw .usage("--jobs: \(ErrorCatalogue.quoted(text)) \(error.rule)", hint: error.hint)
        }
    }
}
