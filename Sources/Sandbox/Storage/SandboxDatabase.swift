import GRDB

/// How every database of a sandbox is opened.
enum SandboxDatabase {
    static func open(_ path: String, _ migrator: DatabaseMigrator) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        // A sandbox must survive its own end, not the machine's: no waiting for the disk.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try migrator.migrate(queue)
        return queue
    }
}
