internal import CSQLiteShims

/// What holds for all databases of the process.
enum SQLiteProcess {
    /// To be touched before each database is opened; the first time counts.
    static let isPrepared: Void = sqlite_shim_prepare()
}
