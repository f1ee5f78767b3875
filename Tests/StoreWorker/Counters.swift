import Foundation
import MediaStore

/// Exchanges of one device: `counters DIRECTORY DEVICE COUNT` takes two counters in each of COUNT exchanges and prints
/// the first of the two. Without COUNT it continues until it is killed.
struct Counters {
    private let directory: DataDirectory
    private let device: String
    private let count: Int?

    init(_ directory: DataDirectory, _ arguments: [String]) throws {
        guard arguments.count >= 3 else { throw Failure("usage: store-worker counters DIRECTORY DEVICE [COUNT]") }
        self.directory = directory
        device = arguments[2]
        count = arguments.count > 3 ? Int(arguments[3]) : nil
    }

    func run() async throws {
        var done = 0
        while done != count {
            let file = try await CounterFile.lock(device: device, in: directory)
            StoreWorker.report("\(try file.take(2))")
            file.release()
            done += 1
        }
    }
}
