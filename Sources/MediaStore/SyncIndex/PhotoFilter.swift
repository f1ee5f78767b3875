/// Which photos are wanted.
public struct PhotoFilter: Sendable, Equatable {
    /// Origin of a photo.
    public enum Origin: Sendable, Equatable {
        /// Any.
        case any
        /// One device.
        case device(String)
        /// Any device but this one; all devices when nil.
        case otherThan(String?)
        /// No device.
        case legacy
    }

    /// The origin.
    public var origin: Origin
    /// Only those uploaded at or after this time.
    public var uploadedSince: PhotoTime?
    /// Only those that are gone, instead of those that are there.
    public var isGone: Bool

    /// Makes a filter; by default everything that is there.
    public init(origin: Origin = .any, uploadedSince: PhotoTime? = nil, isGone: Bool = false) {
        self.origin = origin
        self.uploadedSince = uploadedSince
        self.isGone = isGone
    }
}
