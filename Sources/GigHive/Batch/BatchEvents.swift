internal import Synchronization

/// Hands the events of many transfers on, one at a time, and none of an item that has ended.
final class BatchEvents: Sendable {
    private let running = Mutex<Set<Int>>([])
    private let onEvent: @Sendable (UploadBatch.Event) -> Void

    init(_ onEvent: @escaping @Sendable (UploadBatch.Event) -> Void) {
        self.onEvent = onEvent
    }

    func began(_ index: Int) {
        running.withLock { running in
            running.insert(index)
            onEvent(.began(index))
        }
    }

    func upload(_ index: Int, _ event: UploadEvent) {
        running.withLock { running in
            guard running.contains(index) else { return }
            onEvent(.upload(index, event))
        }
    }

    func withdrew(_ index: Int) {
        running.withLock { running in
            running.remove(index)
            onEvent(.withdrew(index))
        }
    }

    func ended(_ index: Int, _ result: UploadResult) {
        running.withLock { running in
            running.remove(index)
            onEvent(.ended(index, result))
        }
    }
}
