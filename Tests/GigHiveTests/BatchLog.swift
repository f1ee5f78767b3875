import Synchronization
import Testing

@testable import GigHive

/// The events of a batch, in order.
final class BatchLog: Sendable {
    private struct State {
        var lines: [String] = []
        var ends: [Int: UploadResult] = [:]
        var isBusy = false
    }

    private let state = Mutex(State())
    let overlaps = Atomic(0)

    func note(_ event: UploadBatch.Event) {
        let isFirst = state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if !isFirst {
            overlaps.add(1, ordering: .relaxed)
        }
        state.withLock { state in
            switch event {
            case .began(let index): state.lines.append("began \(index)")
            case .upload: break
            case .withdrew(let index): state.lines.append("withdrew \(index)")
            case .ended(let index, let result):
                state.lines.append("ended \(index)")
                state.ends[index] = result
            }
            state.isBusy = false
        }
    }

    var lines: [String] { state.withLock { $0.lines } }
    var begun: [Int] { lines.filter { $0.hasPrefix("began") }.compactMap { Int($0.dropFirst(6)) } }
    var ended: [Int] { lines.filter { $0.hasPrefix("ended") }.compactMap { Int($0.dropFirst(6)) } }
    var withdrawn: [Int] { lines.filter { $0.hasPrefix("withdrew") }.compactMap { Int($0.dropFirst(9)) } }
    subscript(index: Int) -> UploadResult? { state.withLock { $0.ends[index] } }
}

extension Uploader {
    /// Runs a batch, whose events must be reported one at a time.
    func batch(
        _ items: [UploadBatch.Item],
        _ options: UploadBatch.Options = UploadBatch.Options(),
        control: BatchControl = BatchControl(),
        log: BatchLog = BatchLog(),
        also: @escaping @Sendable (UploadBatch.Event) -> Void = { _ in }
    ) async -> BatchLog {
        await UploadBatch(uploader: self, options: options).run(items, control: control) { event in
            log.note(event)
            also(event)
        }
        #expect(log.overlaps.load(ordering: .relaxed) == 0)
        return log
    }
}
