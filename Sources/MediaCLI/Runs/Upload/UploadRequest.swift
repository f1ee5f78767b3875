internal import GigHive

/// How `mediactl upload` was asked to send, its inputs aside.
struct UploadRequest: Sendable {
    var details: DetailPlan
    var sending: SendingOptions
    /// The part of the inputs that these are.
    var shard: ShardChoice?
    var writesProgressRecords: Bool
}

extension SendingOptions {
    /// The order as the batch knows it.
    var batchOrder: UploadBatch.Order {
        switch order {
        case .given: .asGiven
        case .largestFirst: .largestFirst
        }
    }
}
