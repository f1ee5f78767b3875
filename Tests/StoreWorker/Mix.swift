import Foundation
import MediaStore

/// Upserts, deletes, clears and lists in turn, in one of many processes. Each process uses its own file IDs on two
/// shared hosts, and clears a host of its own.
struct Mix {
    let number: Int64
    let store: TokenStore

    static let rounds: Int64 = 10

    func run() async throws {
        StoreWorker.report("ready")
        _ = readLine()
        for round in 0..<Self.rounds {
            let fileID = number * 1000 + round
            try await store.commit("u-none", UploadChange(), token: StoreWorker.entry("kept", fileID))
            try await deleteOne(fileID)
            try await clearOwnHost(fileID)
            try checkNothingLost(upTo: round)
        }
        StoreWorker.report("done")
    }

    private func deleteOne(_ fileID: Int64) async throws {
        let entry = StoreWorker.entry("deleted", fileID)
        try await store.commit("u-none", UploadChange(), token: entry)
        try store.remove(entry)
    }

    private func clearOwnHost(_ fileID: Int64) async throws {
        let host = "cleared-\(number)"
        try await store.commit("u-none", UploadChange(), token: StoreWorker.entry(host, fileID))
        guard try store.clear(host: host) == 1 else { throw Failure("cleared more or fewer entries than were stored") }
    }

    private func checkNothingLost(upTo round: Int64) throws {
        let mine = try store.tokens(host: "kept").map(\.fileID).filter { $0 / 1000 == number }
        guard mine == (0...round).reversed().map({ number * 1000 + $0 }) else {
            throw Failure("list shows \(mine) after round \(round)")
        }
    }
}
