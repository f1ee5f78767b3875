import Foundation
import Testing

/// Runs `body` while a file grows. The file is so large that it grows many times while it is read once.
public func whileGrowing<Value>(_ path: String, _ body: () async throws -> Value) async throws -> Value {
    let start: off_t = 256 << 20
    try #require(truncate(path, start) == 0)
    let growth = Task {
        var size = start
        while !Task.isCancelled {
            size += 1
            truncate(path, size)
            await Task.yield()
        }
    }
    defer { growth.cancel() }
    return try await body()
}
