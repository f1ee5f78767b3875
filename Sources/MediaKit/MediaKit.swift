// The public library: one import for programs that embed the client.
@_exported public import CaptureSubmission
@_exported public import GigHive
@_exported public import HashCapture
@_exported public import MediaCrypto
@_exported public import MediaFiles
@_exported public import MediaStore
@_exported public import MediaSystem
@_exported public import MediaTransport
@_exported public import Outcomes
@_exported public import PhotoSync
@_exported public import Tapes
@_exported public import Tus
